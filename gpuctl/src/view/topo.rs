//! How the GPUs are wired.

use super::Screen;
use super::cell::{Cell, Tone};
use super::grid::{Grid, Narrow, left, right};
use super::sheet::Sheet;
use super::words;
use crate::record::Machine;

const STEPS: &[Narrow] = &[
    Narrow::Drop("PCI"),
    Narrow::Shorten("CPUS", 12),
    Narrow::Drop("CPUS"),
    Narrow::Drop("NUMA"),
];

/// Nearest first, in the words of `nvidia-smi topo -m`.
const LEGEND: &[(&str, &str)] = &[
    ("X", "the GPU itself"),
    (
        "NV<n>",
        "joined by n NVLinks, directly or through NVSwitches",
    ),
    ("PIX", "one PCIe switch between them"),
    ("PXB", "several PCIe switches, no host bridge"),
    ("PHB", "one PCIe host bridge"),
    ("NODE", "several host bridges of one NUMA node"),
    ("SYS", "across NUMA nodes"),
    ("-", "not known: one of the two does not answer"),
];

/// A matrix of all pairs, with the CPUs that are near, and what it means.
pub(crate) fn topo(machine: &Machine, screen: &Screen) -> String {
    if machine.gpus.is_empty() {
        return words::no_gpus(&machine.driver).paragraph(screen);
    }
    let mut columns = vec![left("GPU")];
    columns.extend(
        machine
            .gpus
            .iter()
            .map(|gpu| left(format!("GPU{}", gpu.index))),
    );
    columns.extend([right("NUMA"), left("CPUS"), left("PCI")]);
    let mut grid = Grid::new(&columns);
    for (at, gpu) in machine.gpus.iter().enumerate() {
        let pairs = machine
            .topology
            .get(at)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut row = vec![Cell::new(format!("GPU{}", gpu.index), Tone::Strong)];
        row.extend(
            pairs
                .iter()
                .map(|pair| Cell::new(pair.as_str(), tone(pair))),
        );
        row.resize(machine.gpus.len() + 1, words::NOTHING.into());
        row.push(words::or_nothing(gpu.numa_node).into());
        row.push(words::text(&gpu.cpus).into());
        row.push(words::text(&gpu.pci).into());
        grid.row(row);
    }
    let text = grid.draw(screen, STEPS);
    text + &legend(machine, screen) + &words::simulated(&machine.driver, screen)
}

fn tone(pair: &str) -> Tone {
    match pair {
        "X" => Tone::Faint,
        "SYS" | "-" => Tone::Warning,
        pair if pair.starts_with("NV") => Tone::Good,
        _ => Tone::Plain,
    }
}

/// Only what occurs.
fn legend(machine: &Machine, screen: &Screen) -> String {
    let mut sheet = Sheet::default();
    let occurs = |sign: &str| {
        let mut cells = machine.topology.iter().flatten();
        cells.any(|cell| cell == sign || (sign == "NV<n>" && cell.starts_with("NV")))
    };
    for (sign, meaning) in LEGEND.iter().filter(|(sign, _)| occurs(sign)) {
        sheet.line(*sign, *meaning);
    }
    sheet.section("Legend", screen)
}
