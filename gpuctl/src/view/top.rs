//! How busy the GPUs are, by GPU, pod and process.

use std::collections::BTreeMap;

use super::Screen;
use super::cell::{Cell, Tone};
use super::grid::{Grid, Narrow, left, right};
use super::words;
use crate::record::{Gpu, Machine};

const GPU_STEPS: &[Narrow] = &[
    Narrow::Drop("MEM CLOCK"),
    Narrow::Drop("MEM UTIL"),
    Narrow::Shorten("POD", 18),
    Narrow::Drop("SM CLOCK"),
    Narrow::Shorten("MODEL", 10),
    Narrow::Drop("MODEL"),
    Narrow::Shorten("POD", 10),
    Narrow::Drop("POWER"),
];

const POD_STEPS: &[Narrow] = &[
    Narrow::Shorten("POD", 24),
    Narrow::Drop("POWER"),
    Narrow::Shorten("GPUS", 8),
    Narrow::Drop("MEMORY"),
];

const PROCESS_STEPS: &[Narrow] = &[
    Narrow::Shorten("POD", 24),
    Narrow::Shorten("CONTAINER", 12),
    Narrow::Drop("CONTAINER"),
];

/// What pods of more than one GPU add up to.
#[derive(Debug, Default)]
struct Sum<'a> {
    gpus: Vec<&'a Gpu>,
}

/// One look.
pub(crate) fn top(machine: &Machine, screen: &Screen) -> String {
    if machine.gpus.is_empty() {
        return words::no_gpus(&machine.driver).paragraph(screen);
    }
    let mut text = gpus(&machine.gpus, screen);
    text += &pods(&machine.gpus, screen);
    text += &processes(machine, screen);
    text + &words::simulated(&machine.driver, screen)
}

fn gpus(gpus: &[Gpu], screen: &Screen) -> String {
    let mut grid = Grid::new(&[
        left("GPU"),
        left("MODEL"),
        right("UTIL"),
        right("MEM UTIL"),
        right("MEMORY"),
        right("TEMP"),
        right("POWER"),
        right("SM CLOCK"),
        right("MEM CLOCK"),
        left("POD"),
    ]);
    for gpu in gpus {
        let reading = gpu.reading.clone().unwrap_or_default();
        let clock = |mhz: Option<u32>| words::or_nothing(mhz.map(|mhz| format!("{mhz} MHz")));
        let util = reading.utilization_percent;
        grid.row(vec![
            gpu.index.into(),
            words::model(gpu).into(),
            Cell::new(words::percent(util), busy(util)),
            words::percent(reading.memory_utilization_percent).into(),
            words::memory(gpu).into(),
            words::celsius(reading.temperature_celsius).into(),
            words::or_nothing(words::power(&reading)).into(),
            clock(reading.sm_clock_mhz).into(),
            clock(reading.memory_clock_mhz).into(),
            words::all_holders(gpu).into(),
        ]);
    }
    grid.draw(screen, GPU_STEPS)
}

/// A GPU that somebody holds and nobody uses is what people look for here, so only work is coloured.
fn busy(share: Option<u32>) -> Tone {
    match share {
        Some(0) | None => Tone::Faint,
        Some(_) => Tone::Good,
    }
}

fn pods(gpus: &[Gpu], screen: &Screen) -> String {
    let mut sums: BTreeMap<String, Sum<'_>> = BTreeMap::new();
    for gpu in gpus {
        for holder in gpu.holders.iter().flatten() {
            let sum = sums
                .entry(format!("{}/{}", holder.namespace, holder.pod))
                .or_default();
            if !sum.gpus.iter().any(|other| other.index == gpu.index) {
                sum.gpus.push(gpu);
            }
        }
    }
    if sums.is_empty() {
        return String::new();
    }
    let columns = [
        left("POD"),
        left("GPUS"),
        right("UTIL"),
        right("MEMORY"),
        right("POWER"),
    ];
    let mut grid = Grid::new(&columns);
    for (pod, sum) in &sums {
        let indices: Vec<String> = sum.gpus.iter().map(|gpu| gpu.index.to_string()).collect();
        let util = sum.mean_utilization();
        grid.row(vec![
            pod.as_str().into(),
            indices.join(",").into(),
            Cell::new(words::percent(util), busy(util)),
            sum.memory().into(),
            sum.power().into(),
        ]);
    }
    format!("\n{}", grid.draw(screen, POD_STEPS))
}

fn processes(machine: &Machine, screen: &Screen) -> String {
    let mut grid = Grid::new(&[
        left("GPU"),
        right("PID"),
        right("MEMORY"),
        left("POD"),
        left("CONTAINER"),
    ]);
    let mut any = false;
    for gpu in &machine.gpus {
        for process in gpu.reading.iter().flat_map(|reading| &reading.processes) {
            any = true;
            let pod = match (&machine.node, process.pod.as_str()) {
                (None, _) => words::UNKNOWN.into(),
                (Some(_), "") => Cell::new("no pod", Tone::Warning),
                (Some(_), pod) => format!("{}/{pod}", process.namespace).into(),
            };
            grid.row(vec![
                gpu.index.into(),
                process.pid.into(),
                words::or_nothing(process.memory_bytes.map(words::bytes)).into(),
                pod,
                words::text(&process.container).into(),
            ]);
        }
    }
    let text = match any {
        true => grid.draw(screen, PROCESS_STEPS),
        false => Cell::new("no processes on any GPU", Tone::Faint).paragraph(screen),
    };
    format!("\n{text}")
}

impl Sum<'_> {
    fn mean_utilization(&self) -> Option<u32> {
        let shares = self
            .gpus
            .iter()
            .filter_map(|gpu| gpu.reading.as_ref()?.utilization_percent);
        let shares: Vec<u32> = shares.collect();
        let number = u32::try_from(shares.len()).ok()?;
        shares.iter().sum::<u32>().checked_div(number)
    }

    fn memory(&self) -> String {
        let used = self
            .gpus
            .iter()
            .filter_map(|gpu| gpu.reading.as_ref()?.memory_used_bytes);
        let all = self.gpus.iter().map(|gpu| gpu.memory_bytes);
        let used = used.reduce(u64::saturating_add);
        words::memory_of(used, all.fold(0, u64::saturating_add))
    }

    fn power(&self) -> String {
        let draws = self
            .gpus
            .iter()
            .filter_map(|gpu| gpu.reading.as_ref()?.power_milliwatts);
        let draw = draws.reduce(u32::saturating_add);
        words::or_nothing(draw.map(|draw| format!("{} W", draw.saturating_add(500) / 1000)))
    }
}
