//! Everything about one GPU.

use super::Screen;
use super::cell::{Cell, Tone};
use super::grid::{Grid, Narrow, left, right};
use super::health::finding;
use super::sheet::{INDENT, Sheet, heading};
use super::words;
use crate::record::{Driver, Gpu, Reading};

const TABLE_STEPS: &[Narrow] = &[
    Narrow::Shorten("POD", 24),
    Narrow::Shorten("CONTAINER", 12),
    Narrow::Shorten("MIG DEVICE", 13),
    Narrow::Drop("CONTAINER"),
];

/// Everything about one GPU.
pub(crate) fn gpu(gpu: &Gpu, driver: &Driver, screen: &Screen) -> String {
    let mut text = heading(
        &format!("GPU {}: {}", gpu.index, words::text(&gpu.name)),
        screen,
    );
    text += &identity(gpu).section("Identity", screen);
    text += &health(gpu, screen);
    text += &now(gpu, screen).section("Now", screen);
    if let Some(reading) = &gpu.reading {
        text += &memory_errors(reading).section("Memory errors", screen);
    }
    text += &mig(gpu, screen);
    text += &holders(gpu, screen);
    text += &processes(gpu, screen);
    text + &words::simulated(driver, screen)
}

fn identity(gpu: &Gpu) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.line("UUID", gpu.uuid.as_str());
    sheet.line("Serial", gpu.serial.as_str());
    sheet.line("PCI", gpu.pci.as_str());
    sheet.maybe("NUMA node", gpu.numa_node);
    sheet.line("CPUs", gpu.cpus.as_str());
    sheet.line(
        "Memory",
        if gpu.memory_bytes == 0 {
            String::new()
        } else {
            words::bytes(gpu.memory_bytes)
        },
    );
    sheet.line(
        "Compute",
        join(&[&gpu.compute_capability, &gpu.architecture]),
    );
    sheet.maybe("Minor", gpu.minor);
    sheet.line("Device nodes", gpu.device_nodes.join(" "));
    if !gpu.uuid.is_empty() {
        sheet.line("NVLinks", format!("{} up", gpu.links_active));
    }
    sheet.line("NVLink fabric", gpu.fabric.as_str());
    sheet
}

fn join(texts: &[&String]) -> String {
    let told: Vec<&str> = texts
        .iter()
        .filter(|it| !it.is_empty())
        .map(|it| it.as_str())
        .collect();
    told.join(", ")
}

fn health(gpu: &Gpu, screen: &Screen) -> String {
    let mut sheet = Sheet::default();
    sheet.line("State", words::health(gpu));
    if !["", "none"].contains(&gpu.health.action.as_str()) {
        sheet.line("Action", words::action(gpu));
    }
    sheet.maybe("Since", words::when(gpu.health.since, screen));
    let mut text = sheet.section("Health", screen);
    for each in &gpu.health.findings {
        text += "\n";
        text += &finding(each, screen);
    }
    text
}

fn now(gpu: &Gpu, screen: &Screen) -> Sheet {
    let mut sheet = Sheet::default();
    let Some(reading) = &gpu.reading else {
        sheet.line("Reading", Cell::new("none: it does not answer", Tone::Bad));
        return sheet;
    };
    let mhz = |clock: Option<u32>| clock.map(|mhz| format!("{mhz} MHz"));
    sheet.maybe("Read at", words::when(reading.at, screen));
    sheet.line("Memory used", words::memory(gpu));
    sheet.maybe(
        "Utilization",
        reading.utilization_percent.map(|share| format!("{share}%")),
    );
    let memory = reading.memory_utilization_percent;
    sheet.maybe("Memory busy", memory.map(|share| format!("{share}%")));
    sheet.maybe(
        "Temperature",
        reading.temperature_celsius.map(|it| format!("{it}C")),
    );
    sheet.maybe("Power", words::power(reading));
    sheet.maybe("SM clock", mhz(reading.sm_clock_mhz));
    sheet.maybe("Memory clock", mhz(reading.memory_clock_mhz));
    sheet.line("Clock reasons", reading.clock_reasons.join(", "));
    sheet
}

fn memory_errors(reading: &Reading) -> Sheet {
    let mut sheet = Sheet::default();
    let worry = |number: u64| {
        Cell::new(
            number.to_string(),
            if number > 0 { Tone::Bad } else { Tone::Plain },
        )
    };
    let flag = |set: bool| match set {
        true => Cell::new("yes", Tone::Bad),
        false => "no".into(),
    };
    sheet.maybe("Uncorrected", reading.ecc_uncorrected.map(worry));
    sheet.maybe(
        "Corrected",
        reading.ecc_corrected.map(|number| number.to_string()),
    );
    sheet.maybe("Rows remapped", reading.rows_remapped);
    sheet.maybe("Remap pending", reading.remap_pending.map(flag));
    sheet.maybe("Remap failed", reading.remap_failed.map(flag));
    sheet
}

fn mig(gpu: &Gpu, screen: &Screen) -> String {
    if !gpu.mig_enabled {
        return String::new();
    }
    let mut text = format!("\n{}", heading("MIG devices", screen));
    if gpu.mig_devices.is_empty() {
        let none = "MIG mode is on and there are none: the GPU cannot be used";
        text += &Cell::new(none, Tone::Warning).paragraph_at(INDENT, screen);
    } else {
        text += &mig_devices(gpu, screen);
    }
    let mut profiles = Sheet::default();
    for profile in &gpu.mig_profiles {
        let memory = words::bytes(profile.memory_bytes);
        let places = profile.placements.join(" ");
        let number = words::count(usize::try_from(profile.instances).unwrap_or(0), "instance");
        profiles.line(
            profile.name.clone(),
            format!("{memory}, {number} at most, at {places}"),
        );
    }
    text + &profiles.section("MIG profiles (first memory slice:slices)", screen)
}

fn mig_devices(gpu: &Gpu, screen: &Screen) -> String {
    let columns = [
        left("ID"),
        left("PROFILE"),
        right("MEMORY"),
        left("MIG DEVICE"),
        left("POD"),
    ];
    let mut grid = Grid::set_in(&columns);
    for device in &gpu.mig_devices {
        grid.row(vec![
            format!("{}/{}", device.gpu_instance, device.compute_instance).into(),
            device.profile.as_str().into(),
            words::bytes(device.memory_bytes).into(),
            device.uuid.as_str().into(),
            words::holders(gpu, &device.uuid).into(),
        ]);
    }
    grid.draw(screen, TABLE_STEPS)
}

fn holders(gpu: &Gpu, screen: &Screen) -> String {
    let Some(holders) = &gpu.holders else {
        return String::new();
    };
    let title = format!("\n{}", heading("Held by", screen));
    if holders.is_empty() {
        return title + &Cell::new("nobody", Tone::Faint).paragraph_at(INDENT, screen);
    }
    let mut columns = vec![left("POD"), left("CONTAINER"), right("SINCE")];
    if gpu.mig_enabled {
        columns.push(left("MIG DEVICE"));
    }
    let mut grid = Grid::set_in(&columns);
    for holder in holders {
        let since = holder.since.map(|since| since.age(screen.now));
        let mut cells = vec![
            format!("{}/{}", holder.namespace, holder.pod).into(),
            holder.container.as_str().into(),
            words::or_nothing(since).into(),
            words::text(&holder.mig_uuid).into(),
        ];
        cells.truncate(columns.len());
        grid.row(cells);
    }
    title + &grid.draw(screen, TABLE_STEPS)
}

fn processes(gpu: &Gpu, screen: &Screen) -> String {
    let Some(reading) = gpu
        .reading
        .as_ref()
        .filter(|reading| !reading.processes.is_empty())
    else {
        return String::new();
    };
    let mut grid = Grid::set_in(&[
        right("PID"),
        right("MEMORY"),
        left("POD"),
        left("CONTAINER"),
    ]);
    for process in &reading.processes {
        let pod = match (&gpu.holders, process.pod.as_str()) {
            (None, _) => words::UNKNOWN.into(),
            (Some(_), "") => Cell::new("no pod", Tone::Warning),
            (Some(_), pod) => format!("{}/{pod}", process.namespace).into(),
        };
        grid.row(vec![
            process.pid.into(),
            words::or_nothing(process.memory_bytes.map(words::bytes)).into(),
            pod,
            words::text(&process.container).into(),
        ]);
    }
    format!(
        "\n{}{}",
        heading("Processes", screen),
        grid.draw(screen, TABLE_STEPS)
    )
}
