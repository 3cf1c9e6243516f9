//! The XID catalogue.

use super::Screen;
use super::cell::{Cell, Tone};
use super::grid::{Grid, Narrow, left};
use super::sheet::Sheet;
use crate::record::Xid;

const STEPS: &[Narrow] = &[
    Narrow::Drop("REACHES"),
    Narrow::Shorten("MEANING", 50),
    Narrow::Shorten("WHAT TO DO", 30),
    Narrow::Drop("WHAT TO DO"),
    Narrow::Shorten("MEANING", 30),
];

/// All codes.
pub(crate) fn list(xids: &[Xid], screen: &Screen) -> String {
    let columns = [
        left("XID"),
        left("CLASS"),
        left("AGENT SAYS"),
        left("REACHES"),
        left("MEANING"),
        left("WHAT TO DO"),
    ];
    let mut grid = Grid::new(&columns);
    for xid in xids {
        grid.row(vec![
            xid.codes().into(),
            xid.class.as_str().into(),
            Cell::new(xid.health.as_str(), super::words::health_tone(&xid.health)),
            reaches(xid).into(),
            xid.meaning.as_str().into(),
            xid.advice.as_str().into(),
        ]);
    }
    grid.draw(screen, STEPS)
}

/// One code.
pub(crate) fn explain(xid: &Xid, screen: &Screen) -> String {
    let mut sheet = Sheet::default();
    sheet.line(
        "XID",
        Cell::new(format!("{}: {}", xid.codes(), xid.meaning), Tone::Strong),
    );
    if !xid.known {
        let text = "not in NVIDIA's public catalogue as this version knows it";
        sheet.line("Catalogue", Cell::new(text, Tone::Warning));
    }
    sheet.line("Class", format!("{}: {}", xid.class, xid.class_meaning()));
    sheet.line("Reaches", reaches(xid));
    sheet.line("What to do", xid.advice.as_str());
    let tone = super::words::health_tone(&xid.health);
    sheet.line("gpulet says", Cell::new(xid.verdict(), tone));
    sheet.line("Clears", xid.clears.as_str());
    sheet.draw(screen)
}

fn reaches(xid: &Xid) -> &'static str {
    match xid.scope.as_str() {
        "instance" => "one MIG instance",
        _ => "the whole GPU",
    }
}
