//! Everything that this program prints goes through here.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use comfy_table::Table;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::record::Moment;
use crate::view::Screen;

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people; fits the terminal by shortening and leaving out columns
    #[default]
    Table,
    /// For people; all columns, whatever the width
    Wide,
    /// JSON, the same keys always
    Json,
    /// YAML, the same keys as JSON
    Yaml,
}

/// Where output goes and how it looks.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    format: Format,
    colour: bool,
}

/// One form of several documents after each other, or of a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Single,
    InStream,
}

impl Output {
    /// Colour only on a terminal, and not when `NO_COLOR` is set to anything (no-color.org).
    pub(crate) fn new(format: Format, no_color: bool) -> Self {
        let unwanted = no_color || std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
        Self {
            format,
            colour: !unwanted && io::stdout().is_terminal(),
        }
    }

    /// For people, not for programs.
    pub(crate) fn is_for_people(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    /// People look at it as it comes.
    pub(crate) fn is_live(&self) -> bool {
        self.is_for_people() && io::stdout().is_terminal()
    }

    /// Prints a record, or for people what `view` makes of it.
    pub(crate) fn show<T: Serialize>(
        &self,
        record: &T,
        view: impl FnOnce(&Screen) -> String,
    ) -> io::Result<()> {
        write(&self.text(record, view, Place::Single)?)
    }

    /// The same for one record of many: a line of JSON or a YAML document each.
    pub(crate) fn show_next<T: Serialize>(
        &self,
        record: &T,
        view: impl FnOnce(&Screen) -> String,
    ) -> io::Result<()> {
        write(&self.text(record, view, Place::InStream)?)
    }

    /// Empties the terminal.
    pub(crate) fn clear(&self) -> io::Result<()> {
        write("\x1b[H\x1b[2J")
    }

    fn text<T: Serialize>(
        &self,
        record: &T,
        view: impl FnOnce(&Screen) -> String,
        place: Place,
    ) -> io::Result<String> {
        let text = match (self.format, place) {
            (Format::Table | Format::Wide, _) => view(&self.screen()),
            (Format::Json, Place::Single) => serde_json::to_string_pretty(record)? + "\n",
            (Format::Json, Place::InStream) => serde_json::to_string(record)? + "\n",
            (Format::Yaml, place) => {
                let text = serde_saphyr::to_string(record).map_err(io::Error::other)?;
                let start = if place == Place::InStream {
                    "---\n"
                } else {
                    ""
                };
                format!("{start}{}\n", text.trim_end())
            }
        };
        Ok(text)
    }

    fn screen(&self) -> Screen {
        Screen {
            width: if self.format == Format::Wide {
                None
            } else {
                width()
            },
            wide: self.format == Format::Wide,
            colour: self.colour,
            now: Moment::now(),
            zone: TimeZone::system(),
        }
    }
}

/// `COLUMNS` if it is set, else the terminal's; what goes into a pipe or file has no width.
fn width() -> Option<usize> {
    let set = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    set.filter(|columns| *columns > 0)
        .or_else(|| Table::new().width().map(usize::from))
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// One line beside the output.
pub(crate) fn note(line: &str) {
    // Nowhere to complain to when this fails.
    let _ = writeln!(io::stderr().lock(), "gpuctl: {line}");
}
