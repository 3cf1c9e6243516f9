//! CDI documents.

use super::Screen;
use super::cell::{Cell, Tone};
use super::grid::{Grid, Narrow, left, right};
use super::sheet::{INDENT, Sheet, heading};
use super::words;
use crate::record::{CdiCheck, CdiEdits, CdiFile};

const STEPS: &[Narrow] = &[
    Narrow::Drop("HOOKS"),
    Narrow::Drop("MOUNTS"),
    Narrow::Shorten("DEVICE NODES", 24),
];

/// Problems stand below the file's path, which follows the verdict.
const PROBLEM_INDENT: u16 = 7;

/// What each document gives to a container.
pub(crate) fn show(files: &[CdiFile], folders: &str, screen: &Screen) -> String {
    if files.is_empty() {
        return empty(folders, screen);
    }
    files
        .iter()
        .map(|file| document(file, screen))
        .collect::<Vec<_>>()
        .join("\n")
}

fn document(file: &CdiFile, screen: &Screen) -> String {
    let mut text = heading(&file.path, screen);
    if let Some(error) = &file.error {
        return text + &Cell::new(error.as_str(), Tone::Bad).paragraph_at(INDENT, screen);
    }
    let mut sheet = Sheet::default();
    sheet.line("Kind", file.kind.as_str());
    sheet.line("CDI version", file.cdi_version.as_str());
    sheet.line("Common edits", summary(&file.common));
    text += &sheet.set_in(screen);
    let columns = [
        left("DEVICE"),
        left("DEVICE NODES"),
        right("MOUNTS"),
        right("HOOKS"),
    ];
    let mut grid = Grid::set_in(&columns);
    for device in &file.devices {
        grid.row(vec![
            device.name.as_str().into(),
            words::text(&device.edits.device_nodes.join(" ")).into(),
            device.edits.mounts.len().to_string().into(),
            device.edits.hooks.len().to_string().into(),
        ]);
    }
    text + &grid.draw(screen, STEPS)
}

fn summary(edits: &CdiEdits) -> String {
    let parts = [
        (edits.device_nodes.len(), "device node"),
        (edits.mounts.len(), "mount"),
        (edits.hooks.len(), "hook"),
        (edits.env.len(), "variable"),
    ];
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts
        .map(|(number, noun)| words::count(*number, noun))
        .collect();
    words::text(&parts.join(", "))
}

/// What is wrong with each document.
pub(crate) fn validate(checks: &[CdiCheck], folders: &str, screen: &Screen) -> String {
    if checks.is_empty() {
        return empty(folders, screen);
    }
    let mut text = String::new();
    for check in checks {
        let devices = words::count(check.devices.len(), "device");
        let line = match check.problems.len() {
            0 => Cell::new(format!("ok     {}: {devices}", check.path), Tone::Good),
            number => {
                let problems = words::count(number, "problem");
                Cell::new(
                    format!("WRONG  {}: {devices}, {problems}", check.path),
                    Tone::Bad,
                )
            }
        };
        text += &line.paragraph(screen);
        for problem in &check.problems {
            text += &Cell::from(problem.as_str()).paragraph_at(PROBLEM_INDENT, screen);
        }
    }
    text
}

fn empty(folders: &str, screen: &Screen) -> String {
    let text = format!(
        "no CDI documents in {folders}: the agent writes one when the driver works, see gpuctl status"
    );
    Cell::new(text, Tone::Warning).paragraph(screen)
}
