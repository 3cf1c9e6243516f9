//! What the kernel knows about the place of a PCI device.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use gpu_model::PciAddress;

/// A CPU list of a machine with thousands of CPUs is far below this; sysfs gives a page at most.
const MAX_BYTES: u64 = 4096;

/// The NUMA node of a device; `None` on a machine without NUMA (the kernel says -1) or when the device
/// is not there.
pub(crate) fn numa_node(sysfs: &Path, pci: PciAddress) -> Option<u32> {
    read(&attribute(sysfs, pci, "numa_node"))?.parse().ok()
}

/// The CPUs near a device, as a list such as `0-47,96-143`.
pub(crate) fn local_cpus(sysfs: &Path, pci: PciAddress) -> Option<String> {
    let list = read(&attribute(sysfs, pci, "local_cpulist"))?;
    let is_list = list
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b',');
    (is_list && !list.is_empty()).then_some(list)
}

/// Writes a bit set as a list such as `0-47,96-143`.
pub(crate) fn list_of(words: &[std::ffi::c_ulong]) -> String {
    let bits = words
        .iter()
        .flat_map(|word| (0..std::ffi::c_ulong::BITS).map(move |bit| word >> bit & 1));
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (number, _) in bits.enumerate().filter(|(_, bit)| *bit == 1) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let written = ranges.into_iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    written.collect::<Vec<_>>().join(",")
}

fn attribute(sysfs: &Path, pci: PciAddress, name: &str) -> PathBuf {
    sysfs
        .join("bus/pci/devices")
        .join(pci.to_string())
        .join(name)
}

fn read(path: &Path) -> Option<String> {
    let mut content = String::new();
    File::open(path)
        .ok()?
        .take(MAX_BYTES)
        .read_to_string(&mut content)
        .ok()?;
    Some(content.trim().to_owned())
}

#[cfg(test)]
mod tests;
