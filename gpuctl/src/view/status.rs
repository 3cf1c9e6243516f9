//! The node on one screen.

use super::Screen;
use super::cell::{Cell, Tone};
use super::grid::{Grid, Narrow, left, right};
use super::sheet::{INDENT, Sheet, heading};
use super::words;
use crate::record::{Driver, Gpu, Machine, Node, Pod, Problem};

const STEPS: &[Narrow] = &[
    Narrow::Drop("XID"),
    Narrow::Drop("ECC"),
    Narrow::Drop("UUID"),
    Narrow::Shorten("POD", 18),
    Narrow::Drop("POWER"),
    Narrow::Drop("ACTION"),
    Narrow::Shorten("MODEL", 10),
    Narrow::Drop("TEMP"),
    Narrow::Shorten("POD", 10),
    Narrow::Drop("MODEL"),
    Narrow::Drop("MEMORY"),
];

/// Agent, driver, counts, problems, and a line for each GPU.
pub(crate) fn status(machine: &Machine, pods: Option<&[Pod]>, screen: &Screen) -> String {
    let mut sheet = Sheet::default();
    match &machine.node {
        Some(node) => agent(&mut sheet, node, screen),
        None => sheet.line(
            "Agent",
            Cell::new("none answers; this is NVML alone", Tone::Warning),
        ),
    }
    sheet.line("Driver", driver(&machine.driver));
    sheet.line("GPUs", gpus(machine));
    sheet.maybe("Pods", pods.map(self::pods));
    let mut text = sheet.draw(screen) + &problems(&machine.problems, screen);
    if !machine.gpus.is_empty() {
        text += "\n";
        text += &table(&machine.gpus, screen);
    }
    text + &words::simulated(&machine.driver, screen)
}

/// Problems beyond single GPUs, as a section; nothing if there are none.
pub(super) fn problems(problems: &[Problem], screen: &Screen) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}", heading("Problems", screen));
    for problem in problems {
        let since = problem
            .since
            .map(|since| format!(" (since {})", since.age(screen.now)));
        let line = format!(
            "{}: {}: {}{}",
            problem.reason,
            problem.subject,
            problem.message,
            since.unwrap_or_default()
        );
        text += &Cell::new(line, Tone::Bad).paragraph_at(INDENT, screen);
    }
    text
}

fn agent(sheet: &mut Sheet, node: &Node, screen: &Screen) {
    let up = node
        .started_at
        .map(|since| format!(", up {}", since.age(screen.now)));
    let (state, tone) = if node.not_ready.is_empty() {
        ("ready".to_owned(), Tone::Good)
    } else {
        (
            format!("waits for {}", node.not_ready.join(", ")),
            Tone::Warning,
        )
    };
    sheet.line("Node", node.name.as_str());
    let up = up.unwrap_or_default();
    sheet.line(
        "Agent",
        Cell::new(format!("gpulet {}{up}, {state}", node.version), tone),
    );
    let runtime = &node.runtime;
    let name = format!("{} {}", runtime.name, runtime.version);
    let name = if runtime.name.is_empty() {
        "unknown runtime"
    } else {
        name.trim()
    };
    let cdi = if runtime.cdi {
        "CDI on"
    } else {
        "no CDI: the agent expands devices itself"
    };
    sheet.line(
        "Runtime",
        match runtime.reachable {
            true => Cell::from(format!("{name}, {cdi}, {}", runtime.endpoint)),
            false => Cell::new(
                format!("{name} does not answer at {}", runtime.endpoint),
                Tone::Bad,
            ),
        },
    );
}

/// Versions, or what is wrong.
pub(super) fn driver(driver: &Driver) -> Cell {
    if !driver.is_ready() {
        return Cell::new(format!("{}: {}", driver.state, driver.detail), Tone::Bad);
    }
    let versions = [
        ("", &driver.driver_version),
        ("NVML ", &driver.nvml_version),
        ("CUDA ", &driver.cuda_version),
    ];
    let told = versions.iter().filter(|(_, version)| !version.is_empty());
    let told: Vec<String> = told
        .map(|(name, version)| format!("{name}{version}"))
        .collect();
    let simulated = if driver.simulated { " (simulator)" } else { "" };
    Cell::from(format!("{}{simulated}", words::text(&told.join(", "))))
}

fn gpus(machine: &Machine) -> Cell {
    let gpus = &machine.gpus;
    if gpus.is_empty() && machine.gpus_expected == 0 {
        return "none".into();
    }
    let expected = usize::try_from(machine.gpus_expected)
        .unwrap_or(usize::MAX)
        .max(gpus.len());
    let states = [
        "healthy",
        "degraded",
        "unhealthy",
        "unresponsive",
        "unmonitored",
    ];
    let counts = states.iter().filter_map(|state| {
        let number = gpus.iter().filter(|gpu| gpu.health.state == *state).count();
        (number > 0).then(|| format!("{number} {state}"))
    });
    let mut parts: Vec<String> = counts.collect();
    if machine.node.is_some() {
        let held = gpus
            .iter()
            .filter(|gpu| gpu.holders.iter().any(|it| !it.is_empty()))
            .count();
        parts.push(format!("{held} held by pods"));
    }
    let fine = gpus.len() == expected && gpus.iter().all(|gpu| gpu.health.state == "healthy");
    let tone = if fine { Tone::Plain } else { Tone::Bad };
    Cell::new(
        format!(
            "{} of {expected} expected: {}",
            gpus.len(),
            parts.join(", ")
        ),
        tone,
    )
}

fn pods(pods: &[Pod]) -> Cell {
    if pods.is_empty() {
        return "none".into();
    }
    let phases = ["Running", "Pending", "Succeeded", "Failed"];
    let counts = phases.iter().filter_map(|phase| {
        let number = pods.iter().filter(|pod| pod.phase == *phase).count();
        (number > 0).then(|| format!("{number} {}", phase.to_lowercase()))
    });
    format!("{}: {}", pods.len(), counts.collect::<Vec<_>>().join(", ")).into()
}

fn table(gpus: &[Gpu], screen: &Screen) -> String {
    let mut grid = Grid::new(&[
        left("GPU"),
        left("UUID"),
        left("MODEL"),
        left("HEALTH"),
        left("ACTION"),
        left("POD"),
        right("MEMORY"),
        right("UTIL"),
        right("TEMP"),
        right("POWER"),
        right("ECC"),
        right("XID"),
    ]);
    for gpu in gpus {
        let reading = gpu.reading.clone().unwrap_or_default();
        let xid = gpu
            .health
            .findings
            .iter()
            .rev()
            .find_map(|finding| finding.xid);
        grid.row(vec![
            gpu.index.into(),
            words::short_uuid(&gpu.uuid).into(),
            words::model(gpu).into(),
            words::health(gpu),
            words::action(gpu),
            words::all_holders(gpu).into(),
            words::memory(gpu).into(),
            words::percent(reading.utilization_percent).into(),
            words::celsius(reading.temperature_celsius).into(),
            words::or_nothing(words::power(&reading)).into(),
            words::or_nothing(reading.ecc_uncorrected).into(),
            words::or_nothing(xid).into(),
        ]);
    }
    grid.draw(screen, STEPS)
}
