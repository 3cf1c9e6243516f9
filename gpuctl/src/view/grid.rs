//! A table with a header, made to fit the screen in a stated order.

use std::borrow::Cow;

use comfy_table::{CellAlignment, ColumnConstraint, Width};

use super::Screen;
use super::cell::{Cell, Tone, table};
use super::sheet::INDENT;

/// Space between columns.
const GAP: usize = 2;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    title: Cow<'static, str>,
    right: bool,
    /// Only in `-o wide`.
    wide: bool,
}

/// One step that makes a table narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Narrow {
    /// Shorten the texts of a column, at most to this many characters.
    Shorten(&'static str, usize),
    /// Leave a column out.
    Drop(&'static str),
}

/// A table.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
}

/// Texts, which begin at the left.
pub(super) fn left(title: impl Into<Cow<'static, str>>) -> Column {
    Column {
        title: title.into(),
        right: false,
        wide: false,
    }
}

/// Figures, which end at the right.
pub(super) fn right(title: impl Into<Cow<'static, str>>) -> Column {
    Column {
        title: title.into(),
        right: true,
        wide: false,
    }
}

impl Column {
    /// Only in `-o wide`.
    pub(super) fn wide(self) -> Self {
        Self { wide: true, ..self }
    }
}

impl Grid {
    pub(super) fn new(columns: &[Column]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
            indent: 0,
        }
    }

    /// A table below a title.
    pub(super) fn set_in(columns: &[Column]) -> Self {
        Self {
            indent: INDENT.into(),
            ..Self::new(columns)
        }
    }

    /// One cell for each column.
    pub(super) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Draws it. If it is too wide, the steps are taken one by one until it fits, each no further than
    /// needed. Where all are not enough, the terminal has to break lines.
    pub(super) fn draw(mut self, screen: &Screen, steps: &[Narrow]) -> String {
        self.choose(screen);
        if let Some(width) = screen.width {
            self.fit(width, steps);
        }
        self.render(screen)
    }

    /// All columns of a table on this screen have room.
    pub(super) fn fits(&self, screen: &Screen) -> bool {
        let mut shown = self.clone();
        shown.choose(screen);
        screen.width.is_none_or(|width| shown.width() <= width)
    }

    fn choose(&mut self, screen: &Screen) {
        let unwanted = |column: &Column| column.wide && !screen.wide;
        while let Some(at) = self.columns.iter().position(unwanted) {
            self.remove(at);
        }
    }

    /// What is left out is found first: then the rest is shortened no more than is still needed.
    fn fit(&mut self, width: usize, steps: &[Narrow]) {
        let mut trial = self.clone();
        for step in steps {
            if trial.width() <= width {
                break;
            }
            trial.take(*step, width);
            if let Narrow::Drop(_) = step {
                self.take(*step, width);
            }
        }
        for step in steps {
            if let Narrow::Shorten(..) = step {
                self.take(*step, width);
            }
        }
    }

    fn take(&mut self, step: Narrow, width: usize) {
        let over = self.width().saturating_sub(width);
        let (Narrow::Drop(title) | Narrow::Shorten(title, _)) = step;
        let Some(at) = self.position(title) else {
            return;
        };
        match step {
            Narrow::Drop(_) => self.remove(at),
            Narrow::Shorten(_, least) => {
                let rest = self.column_width(at).saturating_sub(over).max(least);
                self.shorten(at, rest);
            }
        }
    }

    fn position(&self, title: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.title == title)
    }

    fn shorten(&mut self, at: usize, width: usize) {
        let cells = self.rows.iter_mut().filter_map(|row| row.get_mut(at));
        cells.for_each(|cell| cell.shorten(width));
    }

    fn remove(&mut self, at: usize) {
        self.columns.remove(at);
        for row in self.rows.iter_mut().filter(|row| at < row.len()) {
            row.remove(at);
        }
    }

    fn width(&self) -> usize {
        let widths = (0..self.columns.len()).map(|at| self.column_width(at) + GAP);
        self.indent + widths.sum::<usize>().saturating_sub(GAP)
    }

    fn column_width(&self, at: usize) -> usize {
        let title = self.columns.get(at).map(|column| column.title.len());
        let cells = self.rows.iter().filter_map(|row| row.get(at));
        cells
            .map(|cell| cell.text.chars().count())
            .chain(title)
            .max()
            .unwrap_or(0)
    }

    fn render(&self, screen: &Screen) -> String {
        let mut table = table(screen);
        let title = |column: &Column| Cell::new(column.title.clone(), Tone::Strong).drawn();
        table.set_header(self.columns.iter().map(title).collect::<Vec<_>>());
        for row in &self.rows {
            table.add_row(row.iter().map(Cell::drawn).collect::<Vec<_>>());
        }
        let last = self.columns.len().saturating_sub(1);
        for (at, column) in self.columns.iter().enumerate() {
            let gap = if at == last { 0 } else { GAP };
            let indent = if at == 0 { self.indent } else { 0 };
            let width = indent + self.column_width(at) + gap;
            let Some(drawn) = table.column_mut(at) else {
                continue;
            };
            let cells = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
            drawn.set_padding((cells(indent), cells(gap)));
            let width = Width::Fixed(cells(width));
            drawn.set_constraint(ColumnConstraint::Absolute(width));
            if column.right {
                drawn.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.trim_fmt() + "\n"
    }
}

#[cfg(test)]
mod tests;
