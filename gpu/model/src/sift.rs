//! What of a scan can be believed. A driver that answers garbage must not get further than here.

use std::collections::BTreeSet;

use crate::facts::{GpuFacts, MachineFacts};

/// GPUs that are taken at most. The largest machines with one operating system have 16 to 72; a
/// driver that counts more is broken, and everything after this is sized for it.
const GPU_LIMIT: usize = 128;
/// Longest text that is kept, in bytes: NVML's own buffers have at most 96.
const TEXT_LIMIT: usize = 96;

/// A GPU that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// NVML index.
    pub index: u32,
    /// What is wrong, for people.
    pub why: String,
}

/// Leaves out what cannot be true: names that are no UUIDs, two GPUs with one UUID, minor number or
/// PCI address, and whatever exceeds the limits. Texts lose what cannot be printed. Tables follow.
pub fn sift(facts: &MachineFacts) -> (MachineFacts, Vec<Rejected>) {
    let mut kept: Vec<(usize, GpuFacts)> = Vec::new();
    let mut rejected = Vec::new();
    for (at, gpu) in facts.gpus.iter().enumerate() {
        match fault(gpu, &kept) {
            None => kept.push((at, cleaned(gpu.clone()))),
            Some(why) => rejected.push(Rejected {
                index: gpu.index,
                why,
            }),
        }
    }
    let level = |a: &usize, b: &usize| {
        facts
            .levels
            .get(*a)
            .and_then(|row| row.get(*b))
            .copied()
            .unwrap_or_default()
    };
    let levels = kept
        .iter()
        .map(|(a, _)| kept.iter().map(|(b, _)| level(a, b)).collect());
    let levels = levels.collect();
    let mut silent = facts.silent.clone();
    silent.truncate(GPU_LIMIT);
    for gpu in &mut silent {
        gpu.fault = printable(&gpu.fault);
        gpu.uuid = gpu.uuid.take().filter(crate::GpuUuid::is_plausible);
    }
    let mut driver = facts.driver.clone();
    driver.driver = printable(&driver.driver);
    driver.nvml = printable(&driver.nvml);
    let gpus = kept.into_iter().map(|(_, gpu)| gpu).collect();
    (
        MachineFacts {
            driver,
            gpus,
            silent,
            levels,
        },
        rejected,
    )
}

fn fault(gpu: &GpuFacts, kept: &[(usize, GpuFacts)]) -> Option<String> {
    let same = |equal: fn(&GpuFacts, &GpuFacts) -> bool| {
        kept.iter()
            .find(|(_, other)| equal(other, gpu))
            .map(|(_, other)| other.index)
    };
    if kept.len() >= GPU_LIMIT {
        return Some(format!("the driver counts more than {GPU_LIMIT} GPUs"));
    }
    if !gpu.uuid.is_plausible() {
        return Some(format!(
            "its UUID {:?} is not one",
            printable(gpu.uuid.as_str())
        ));
    }
    if let Some(other) = same(|a, b| a.uuid == b.uuid) {
        return Some(format!("it has the UUID of GPU {other}"));
    }
    if let Some(other) = same(|a, b| a.minor == b.minor) {
        return Some(format!(
            "it has the minor number {} of GPU {other}",
            gpu.minor
        ));
    }
    same(|a, b| a.pci == b.pci).map(|other| format!("it has the PCI address of GPU {other}"))
}

fn cleaned(mut gpu: GpuFacts) -> GpuFacts {
    for text in [&mut gpu.name, &mut gpu.cpus, &mut gpu.architecture] {
        *text = printable(text);
    }
    gpu.serial = gpu.serial.as_deref().map(printable);
    if let Some(fabric) = &mut gpu.fabric {
        fabric.state = printable(&fabric.state);
        fabric.cluster = printable(&fabric.cluster);
    }
    if let Some(mig) = &mut gpu.mig {
        let mut seen = BTreeSet::new();
        mig.devices
            .retain(|device| device.uuid.is_plausible() && seen.insert(device.uuid.clone()));
        mig.devices
            .iter_mut()
            .for_each(|device| device.profile = printable(&device.profile));
    }
    gpu
}

/// The text without control characters and without its part beyond the limit.
fn printable(text: &str) -> String {
    let clean = |c: char| {
        if c.is_control() || c == '\u{fffd}' {
            '?'
        } else {
            c
        }
    };
    let mut clean: String = text.chars().take(TEXT_LIMIT).map(clean).collect();
    while clean.len() > TEXT_LIMIT {
        clean.pop();
    }
    clean
}

#[cfg(test)]
mod tests;
