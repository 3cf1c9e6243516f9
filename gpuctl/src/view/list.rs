//! All GPUs and MIG devices, with what names them.

use super::Screen;
use super::cell::{Cell, Tone};
use super::grid::{Grid, Narrow, left, right};
use super::words;
use crate::record::{Gpu, Machine, MigDevice};

/// The UUID is what people copy from here, so it goes last.
const STEPS: &[Narrow] = &[
    Narrow::Shorten("POD", 16),
    Narrow::Drop("NUMA"),
    Narrow::Drop("POD"),
    Narrow::Drop("MEMORY"),
    Narrow::Shorten("MODEL", 10),
    Narrow::Drop("HEALTH"),
    Narrow::Drop("PCI"),
    Narrow::Shorten("UUID", 13),
];

/// All GPUs.
pub(crate) fn list(machine: &Machine, screen: &Screen) -> String {
    if machine.gpus.is_empty() {
        return words::no_gpus(&machine.driver).paragraph(screen);
    }
    let mut grid = Grid::new(&[
        left("GPU"),
        left("MODEL"),
        left("UUID"),
        left("PCI"),
        right("NUMA"),
        right("MEMORY"),
        left("HEALTH"),
        left("POD"),
        right("MINOR").wide(),
        left("SERIAL").wide(),
        left("COMPUTE").wide(),
        left("CPUS").wide(),
        left("DEVICE NODES").wide(),
    ]);
    for gpu in &machine.gpus {
        grid.row(row(gpu));
        for device in &gpu.mig_devices {
            grid.row(mig_row(gpu, device));
        }
    }
    grid.draw(screen, STEPS) + &words::simulated(&machine.driver, screen)
}

fn row(gpu: &Gpu) -> Vec<Cell> {
    let memory = match gpu.memory_bytes {
        0 => words::NOTHING.to_owned(),
        bytes => words::bytes(bytes),
    };
    vec![
        gpu.index.into(),
        words::model(gpu).into(),
        words::text(&gpu.uuid).into(),
        words::text(&gpu.pci).into(),
        words::or_nothing(gpu.numa_node).into(),
        memory.into(),
        words::health(gpu),
        words::holders(gpu, "").into(),
        words::or_nothing(gpu.minor).into(),
        words::text(&gpu.serial).into(),
        words::text(&gpu.compute_capability).into(),
        words::text(&gpu.cpus).into(),
        words::text(&gpu.device_nodes.join(",")).into(),
    ]
}

/// GPU, GPU instance and compute instance in one, as DCGM writes it.
fn mig_row(gpu: &Gpu, device: &MigDevice) -> Vec<Cell> {
    let MigDevice {
        gpu_instance,
        compute_instance,
        ..
    } = device;
    let mut cells: Vec<Cell> = vec![
        format!("{}/{gpu_instance}/{compute_instance}", gpu.index).into(),
        device.profile.as_str().into(),
        device.uuid.as_str().into(),
        "".into(),
        "".into(),
        words::bytes(device.memory_bytes).into(),
        Cell::new("", Tone::Plain),
        words::holders(gpu, &device.uuid).into(),
    ];
    cells.resize(row(gpu).len(), Cell::default());
    cells
}
