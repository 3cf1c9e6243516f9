//! What happened. Each event is drawn by itself, since they also come one by one.

use comfy_table::{ColumnConstraint, Width};

use super::Screen;
use super::cell::{Cell, Tone, table};
use super::words;
use crate::record::{Event, Gpu};

/// Below this many columns an event takes two lines: its message would be squeezed beside the rest.
const ONE_LINE: usize = 110;

/// Title and width of the columns before the message.
const COLUMNS: [(&str, u16); 4] = [("TIME", 15), ("TYPE", 7), ("REASON", 20), ("SUBJECT", 28)];

/// Space between columns, and before the message in its own line.
const GAP: u16 = 2;
const INDENT: u16 = 4;

/// All that the agent keeps.
pub(crate) fn events(events: &[Event], gpus: &[Gpu], screen: &Screen) -> String {
    if events.is_empty() {
        let text = "no events: nothing has happened since the agent was started";
        return Cell::from(text).paragraph(screen);
    }
    let lines = events.iter().map(|each| event(each, gpus, screen));
    header(screen) + &lines.collect::<String>()
}

/// Titles of the columns, where there are any.
pub(crate) fn header(screen: &Screen) -> String {
    let titles = COLUMNS.iter().map(|(title, _)| *title).chain(["MESSAGE"]);
    match is_one_line(screen) {
        true => line(
            titles.map(|title| Cell::new(title, Tone::Strong)).collect(),
            screen,
        ),
        false => String::new(),
    }
}

/// One event.
pub(crate) fn event(event: &Event, gpus: &[Gpu], screen: &Screen) -> String {
    let (tone, reason) = match event.is_warning() {
        true => (Tone::Warning, Tone::Warning),
        false => (Tone::Faint, Tone::Plain),
    };
    let time = event
        .at
        .map_or(words::UNKNOWN.to_owned(), |at| at.clock(&screen.zone));
    let mut cells = vec![
        Cell::new(time, Tone::Faint),
        Cell::new(event.r#type.as_str(), tone),
        Cell::new(event.reason.as_str(), reason),
        Cell::new(subject(event, gpus), Tone::Strong),
    ];
    let message = Cell::from(message(event));
    if is_one_line(screen) {
        for (cell, (_, width)) in cells.iter_mut().zip(COLUMNS) {
            cell.shorten(width.into());
        }
        cells.push(message);
        return line(cells, screen);
    }
    let mut head = table(screen);
    head.add_row(cells.iter().map(Cell::drawn).collect::<Vec<_>>());
    for column in head.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    let mut body = table(screen);
    body.add_row([message.drawn()]);
    if let Some(column) = body.column_mut(0) {
        column.set_padding((INDENT, 0));
    }
    format!("{}\n{}\n", head.trim_fmt(), body.trim_fmt())
}

fn is_one_line(screen: &Screen) -> bool {
    screen.width.is_none_or(|width| width >= ONE_LINE)
}

fn line(cells: Vec<Cell>, screen: &Screen) -> String {
    let mut table = table(screen);
    table.add_row(cells.iter().map(Cell::drawn).collect::<Vec<_>>());
    let fixed: u16 = COLUMNS.iter().map(|(_, width)| width + GAP).sum();
    for (at, (_, width)) in COLUMNS.iter().enumerate() {
        if let Some(column) = table.column_mut(at) {
            column.set_padding((0, GAP));
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + GAP)));
        }
    }
    if let Some(column) = table.column_mut(COLUMNS.len()) {
        column.set_padding((0, 0));
        if let Some(width) = screen.width.and_then(|width| u16::try_from(width).ok()) {
            let rest = Width::Fixed(width.saturating_sub(fixed));
            column.set_constraint(ColumnConstraint::UpperBoundary(rest));
        }
    }
    table.trim_fmt() + "\n"
}

/// A GPU by its index, which is shorter than its UUID.
fn subject(event: &Event, gpus: &[Gpu]) -> String {
    let gpu = gpus.iter().find(|gpu| event.is_about(&gpu.uuid));
    let name = gpu.map_or(event.subject.clone(), |gpu| format!("GPU {}", gpu.index));
    match event.container.as_str() {
        "" => name,
        container => format!("{name}/{container}"),
    }
}

fn message(event: &Event) -> String {
    let why = match event.why.as_str() {
        "" => String::new(),
        why => format!(" ({why})"),
    };
    let count = if event.count > 1 {
        format!(" [{} times]", event.count)
    } else {
        String::new()
    };
    format!("{}{why}{count}", event.message)
}
