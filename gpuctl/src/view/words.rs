//! Figures and states in words, the same in every table.

use super::Screen;
use super::cell::{Cell, Tone};
use crate::record::{Driver, Gpu, Holder, Moment, Reading};

/// Shown for what is not there.
pub(super) const NOTHING: &str = "-";
/// Shown for what nobody was asked about.
pub(super) const UNKNOWN: &str = "?";

/// A number of bytes in one binary unit: `140.4 GiB`.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // Precise enough for one decimal.
    let mut value = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    // 999.95 would be shown with four digits before the point.
    while value >= 999.95 {
        let Some(next) = units.next() else { break };
        value /= 1024.0;
        unit = Some(next);
    }
    format!("{value:.1} {}", unit.unwrap_or(&"TiB"))
}

/// Memory of a GPU in use, of all it has.
pub(super) fn memory(gpu: &Gpu) -> String {
    let reading = gpu.reading.as_ref();
    memory_of(
        reading.and_then(|reading| reading.memory_used_bytes),
        gpu.memory_bytes,
    )
}

/// Memory in use of all there is, both in GiB: `1.2/140.4 GiB`.
pub(super) fn memory_of(used: Option<u64>, all: u64) -> String {
    let gib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 30));
    match all {
        0 => NOTHING.to_owned(),
        all => format!("{}/{} GiB", used.map_or(UNKNOWN.to_owned(), gib), gib(all)),
    }
}

/// Power draw of the limit: `650/700 W`.
pub(super) fn power(reading: &Reading) -> Option<String> {
    let watts = |milliwatts: u32| milliwatts.saturating_add(500) / 1000;
    let draw = watts(reading.power_milliwatts?);
    Some(match reading.power_limit_milliwatts {
        Some(limit) => format!("{draw}/{} W", watts(limit)),
        None => format!("{draw} W"),
    })
}

/// A share: `97%`.
pub(super) fn percent(share: Option<u32>) -> String {
    or_nothing(share.map(|share| format!("{share}%")))
}

/// A temperature: `71C`.
pub(super) fn celsius(degrees: Option<u32>) -> String {
    or_nothing(degrees.map(|degrees| format!("{degrees}C")))
}

/// The product without its maker.
pub(super) fn model(gpu: &Gpu) -> String {
    let name = gpu.name.strip_prefix("NVIDIA ").unwrap_or(&gpu.name);
    text(name)
}

/// A text, or a dash.
pub(super) fn text(text: &str) -> String {
    if text.is_empty() {
        NOTHING.to_owned()
    } else {
        text.to_owned()
    }
}

/// A value, or a dash.
pub(super) fn or_nothing<T: ToString>(value: Option<T>) -> String {
    value.map_or(NOTHING.to_owned(), |value| value.to_string())
}

/// Beginning of a UUID, enough to tell the GPUs of a node apart: `GPU-1a2b3c4d`.
pub(super) fn short_uuid(uuid: &str) -> String {
    let mut parts = uuid.splitn(3, '-');
    match (parts.next(), parts.next()) {
        (Some(kind), Some(start)) => format!("{kind}-{start}"),
        _ => text(uuid),
    }
}

/// Health in colour.
pub(super) fn health(gpu: &Gpu) -> Cell {
    Cell::new(text(&gpu.health.state), health_tone(&gpu.health.state))
}

pub(super) fn health_tone(state: &str) -> Tone {
    match state {
        "healthy" => Tone::Good,
        "degraded" | "unmonitored" => Tone::Warning,
        _ => Tone::Bad,
    }
}

/// What has to be done.
pub(super) fn action(gpu: &Gpu) -> Cell {
    match gpu.health.action.as_str() {
        "" | "none" => Cell::new(NOTHING, Tone::Plain),
        action => Cell::new(action, Tone::Bad),
    }
}

/// Pods that hold the whole GPU, or this MIG device of it.
pub(super) fn holders(gpu: &Gpu, mig_uuid: &str) -> String {
    pods(gpu, |holder| holder.mig_uuid == mig_uuid)
}

/// Pods that hold the GPU or a part of it.
pub(super) fn all_holders(gpu: &Gpu) -> String {
    pods(gpu, |_| true)
}

fn pods(gpu: &Gpu, counts: impl Fn(&Holder) -> bool) -> String {
    let Some(holders) = &gpu.holders else {
        return UNKNOWN.to_owned();
    };
    let mut pods: Vec<String> = Vec::new();
    for holder in holders.iter().filter(|holder| counts(holder)) {
        let pod = format!("{}/{}", holder.namespace, holder.pod);
        if !pods.contains(&pod) {
            pods.push(pod);
        }
    }
    if pods.is_empty() {
        NOTHING.to_owned()
    } else {
        pods.join(",")
    }
}

/// A time and how long ago that was.
pub(super) fn when(moment: Option<Moment>, screen: &Screen) -> Option<String> {
    let moment = moment?;
    Some(format!(
        "{} ({} ago)",
        moment.clock(&screen.zone),
        moment.age(screen.now)
    ))
}

/// How many of something: `1 GPU`, `2 GPUs`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Why there are no GPUs.
pub(super) fn no_gpus(driver: &Driver) -> Cell {
    if driver.is_ready() {
        let text = "no GPUs: the NVIDIA driver works and finds none; check with lspci -d 10de:";
        return Cell::new(text, Tone::Warning);
    }
    Cell::new(format!("no GPUs: {}", driver.detail), Tone::Bad)
}

/// Said below everything that comes from a simulator.
pub(super) fn simulated(driver: &Driver, screen: &Screen) -> String {
    if !driver.simulated {
        return String::new();
    }
    let text = "SIMULATED: this NVML library is a simulator; no GPU shown here is real.";
    format!("\n{}", Cell::new(text, Tone::Warning).paragraph(screen))
}
