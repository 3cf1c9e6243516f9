//! One text with a meaning that colour can show.

use comfy_table::{Attribute, Color, Table};

use super::Screen;

/// One text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) tone: Tone,
}

/// What a text means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Good,
    Warning,
    Bad,
    /// Of little interest.
    Faint,
    Strong,
}

impl Cell {
    /// What would move the cursor or change the terminal becomes a space: some texts come from containers.
    pub(super) fn new(text: impl Into<String>, tone: Tone) -> Self {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        Self {
            text: text.into().trim_end().chars().map(plain).collect(),
            tone,
        }
    }

    /// Shortened to `width` characters, the last of which then is an ellipsis.
    pub(super) fn shorten(&mut self, width: usize) {
        if self.text.chars().count() > width {
            let kept: String = self.text.chars().take(width.saturating_sub(1)).collect();
            self.text = kept.trim_end().to_owned() + "…";
        }
    }

    pub(super) fn drawn(&self) -> comfy_table::Cell {
        let cell = comfy_table::Cell::new(&self.text);
        // The dark ones are readable on a black and on a white background.
        match self.tone {
            Tone::Plain => cell,
            Tone::Good => cell.fg(Color::DarkGreen),
            Tone::Warning => cell.fg(Color::DarkYellow),
            Tone::Bad => cell.fg(Color::DarkRed).add_attribute(Attribute::Bold),
            Tone::Faint => cell.add_attribute(Attribute::Dim),
            Tone::Strong => cell.add_attribute(Attribute::Bold),
        }
    }

    /// As a paragraph of its own.
    pub(super) fn paragraph(&self, screen: &Screen) -> String {
        self.paragraph_at(0, screen)
    }

    /// As a paragraph that is set in by some columns.
    pub(super) fn paragraph_at(&self, indent: u16, screen: &Screen) -> String {
        let mut table = table(screen);
        table.add_row([self.drawn()]);
        if let Some(column) = table.column_mut(0) {
            column.set_padding((indent, 0));
        }
        table.trim_fmt() + "\n"
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        number.to_string().into()
    }
}

/// A table without lines that wraps at the width of the screen.
pub(super) fn table(screen: &Screen) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.force_no_tty();
    table.style_text_only();
    if screen.colour {
        table.enforce_styling();
    }
    if let Some(width) = screen.width {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table
}
