//! Names and values, one below the other.

use std::borrow::Cow;

use comfy_table::{ColumnConstraint, Width};

use super::Screen;
use super::cell::{Cell, Tone, table};

/// Width of names in sections, so that those below each other line up.
const NAMES: u16 = 18;

/// Space at the left of sections.
pub(super) const INDENT: u16 = 2;

/// Space after the names.
const GAP: u16 = 2;

/// Narrowest values: below that the terminal breaks the lines.
const VALUES: usize = 24;

/// Names and values.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheet {
    rows: Vec<(Cow<'static, str>, Cell)>,
}

impl Sheet {
    /// A value; nothing if it is empty.
    pub(super) fn line(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Cell>) {
        let value = value.into();
        if !value.text.is_empty() {
            self.rows.push((name.into(), value));
        }
    }

    /// A value that may be missing.
    pub(super) fn maybe(&mut self, name: &'static str, value: Option<impl Into<Cell>>) {
        if let Some(value) = value {
            self.line(name, value);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Draws it below a title, set in.
    pub(super) fn section(&self, title: &str, screen: &Screen) -> String {
        if self.is_empty() {
            return String::new();
        }
        format!("\n{}{}", heading(title, screen), self.set_in(screen))
    }

    /// Draws it set in, as a part of what stands above.
    pub(super) fn set_in(&self, screen: &Screen) -> String {
        self.table(INDENT, NAMES, screen)
    }

    /// Draws it.
    pub(super) fn draw(&self, screen: &Screen) -> String {
        let longest = self
            .rows
            .iter()
            .map(|(name, _)| name.len())
            .max()
            .unwrap_or(0);
        self.table(0, u16::try_from(longest).unwrap_or(NAMES) + GAP, screen)
    }

    fn table(&self, indent: u16, names: u16, screen: &Screen) -> String {
        let mut table = table(screen);
        for (name, value) in &self.rows {
            table.add_row([Cell::new(name.clone(), Tone::Faint).drawn(), value.drawn()]);
        }
        if let Some(column) = table.column_mut(0) {
            column.set_padding((indent, GAP));
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(names)));
        }
        if let Some(column) = table.column_mut(1) {
            column.set_padding((0, 0));
            if let Some(width) = screen.width {
                let rest = width.saturating_sub(names.into()).max(VALUES);
                let rest = Width::Fixed(u16::try_from(rest).unwrap_or(u16::MAX));
                column.set_constraint(ColumnConstraint::UpperBoundary(rest));
            }
        }
        table.trim_fmt() + "\n"
    }
}

/// A title.
pub(super) fn heading(title: &str, screen: &Screen) -> String {
    Cell::new(title, Tone::Strong).paragraph(screen)
}
