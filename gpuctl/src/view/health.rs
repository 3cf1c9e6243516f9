//! How well the GPUs are, and what is known about each fault.

use super::Screen;
use super::cell::{Cell, Tone};
use super::grid::{Grid, Narrow, left, right};
use super::sheet::{Sheet, heading};
use super::status::{driver, problems};
use super::words;
use crate::record::{Finding, Gpu, Machine, State, Verdict};

const STEPS: &[Narrow] = &[
    Narrow::Shorten("UUID", 13),
    Narrow::Shorten("EVIDENCE", 20),
    Narrow::Drop("PCI"),
];

/// The verdict, a line for each GPU, then all about what is wrong.
pub(crate) fn health(machine: &Machine, verdict: &Verdict, screen: &Screen) -> String {
    let tone = match verdict.state {
        State::Healthy => Tone::Good,
        State::Unhealthy => Tone::Bad,
        State::Unknown | State::Degraded => Tone::Warning,
    };
    let mut text = Cell::new(verdict.summary.as_str(), tone).paragraph(screen);
    if !machine.driver.is_ready() {
        let mut sheet = Sheet::default();
        sheet.line("Driver", driver(&machine.driver));
        text += &sheet.draw(screen);
    }
    if !machine.gpus.is_empty() {
        text += "\n";
        text += &table(&machine.gpus, screen);
    }
    for gpu in machine
        .gpus
        .iter()
        .filter(|gpu| !gpu.health.findings.is_empty())
    {
        text += &details(gpu, screen);
    }
    text += &problems(&machine.problems, screen);
    text + &words::simulated(&machine.driver, screen)
}

fn table(gpus: &[Gpu], screen: &Screen) -> String {
    let mut grid = Grid::new(&[
        left("GPU"),
        left("UUID"),
        left("PCI"),
        left("HEALTH"),
        left("ACTION"),
        right("SINCE"),
        left("EVIDENCE"),
    ]);
    for gpu in gpus {
        let causes: Vec<&str> = gpu
            .health
            .findings
            .iter()
            .map(|it| it.cause.as_str())
            .collect();
        let since = gpu.health.since.map(|since| since.age(screen.now));
        grid.row(vec![
            gpu.index.into(),
            words::text(&gpu.uuid).into(),
            words::text(&gpu.pci).into(),
            words::health(gpu),
            words::action(gpu),
            words::or_nothing(since).into(),
            words::text(&causes.join(",")).into(),
        ]);
    }
    grid.draw(screen, STEPS)
}

fn details(gpu: &Gpu, screen: &Screen) -> String {
    let mut text = format!("\n{}", heading(&title(gpu), screen));
    let findings = gpu.health.findings.iter();
    text += &findings
        .map(|it| finding(it, screen))
        .collect::<Vec<_>>()
        .join("\n");
    text
}

/// Which GPU, by all its names that are known.
fn title(gpu: &Gpu) -> String {
    let names = [gpu.uuid.as_str(), gpu.pci.as_str()];
    let names = names
        .iter()
        .filter(|name| !name.is_empty())
        .map(|name| format!("  {name}"));
    format!("GPU {}{}", gpu.index, names.collect::<String>())
}

/// One finding: what was seen, when, and how it ends.
pub(super) fn finding(finding: &Finding, screen: &Screen) -> String {
    let mut sheet = Sheet::default();
    let count = if finding.count > 1 {
        format!(", {} times", finding.count)
    } else {
        String::new()
    };
    sheet.line(
        "Evidence",
        Cell::new(format!("{}{count}", finding.cause), Tone::Bad),
    );
    sheet.line("What", finding.message.as_str());
    sheet.maybe("First seen", words::when(finding.first_seen, screen));
    let again = finding
        .last_seen
        .filter(|last| Some(*last) != finding.first_seen);
    sheet.maybe("Last seen", words::when(again, screen));
    sheet.line("Clears", finding.clears.as_str());
    sheet.set_in(screen)
}
