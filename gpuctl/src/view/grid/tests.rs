//! In what order a table gets narrower.

use jiff::tz::TimeZone;

use super::*;
use crate::record::Moment;

fn draw(width: usize, steps: &[Narrow]) -> Vec<String> {
    let mut grid = Grid::new(&[
        left("NAME"),
        right("SIZE"),
        left("TEXT"),
        left("MORE").wide(),
    ]);
    grid.row(vec![
        "first".into(),
        "7".into(),
        "a text of 21 letters!".into(),
        "x".into(),
    ]);
    let screen = Screen {
        width: Some(width),
        wide: false,
        colour: false,
        now: Moment(0),
        zone: TimeZone::UTC,
    };
    grid.draw(&screen, steps)
        .lines()
        .map(str::to_owned)
        .collect()
}

const STEPS: &[Narrow] = &[
    Narrow::Shorten("TEXT", 10),
    Narrow::Drop("SIZE"),
    Narrow::Shorten("TEXT", 4),
];

#[test]
fn a_table_that_fits_is_left_alone() {
    assert_eq!(
        draw(34, STEPS),
        ["NAME   SIZE  TEXT", "first     7  a text of 21 letters!"]
    );
}

#[test]
fn a_text_is_shortened_no_more_than_needed() {
    assert_eq!(
        draw(30, STEPS),
        ["NAME   SIZE  TEXT", "first     7  a text of 21 let…"]
    );
}

#[test]
fn what_a_dropped_column_leaves_is_used() {
    assert_eq!(draw(22, STEPS), ["NAME   TEXT", "first  a text of 21 l…"]);
}

#[test]
fn the_last_step_comes_last() {
    assert_eq!(draw(12, STEPS), ["NAME   TEXT", "first  a te…"]);
}
