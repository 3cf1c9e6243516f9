//! What the running kernel has, as far as every container's configuration depends on it.

use std::fs;
use std::path::Path;

/// Paths hidden from containers, as in Kubernetes 1.37: they tell about the host, or harm it.
const MASKED_PATHS: [&str; 12] = [
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
];

/// Read once: neither changes while the machine runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// Huge page sizes as their cgroup files are named: `2MB`, `1GB`.
    pub(crate) huge_page_sizes: Vec<String>,
    /// Paths to hide from containers: the fixed ones, and each CPU's throttle counters.
    pub(crate) masked_paths: Vec<String>,
}

impl Kernel {
    /// Reads below `sys`, where sysfs is mounted. What cannot be read is taken as absent.
    pub(crate) fn read(sys: &Path) -> Self {
        let mut huge_page_sizes: Vec<u64> = names(&sys.join("kernel/mm/hugepages"))
            .iter()
            .filter_map(|name| {
                name.strip_prefix("hugepages-")?
                    .strip_suffix("kB")?
                    .parse()
                    .ok()
            })
            .collect();
        huge_page_sizes.sort_unstable();
        let cpus = sys.join("devices/system/cpu");
        let mut throttles: Vec<u32> = names(&cpus)
            .iter()
            .filter_map(|name| name.strip_prefix("cpu")?.parse().ok())
            .filter(|cpu| cpus.join(format!("cpu{cpu}/thermal_throttle")).exists())
            .collect();
        throttles.sort_unstable();
        let throttles = throttles.iter();
        let throttles =
            throttles.map(|cpu| format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle"));
        Self {
            huge_page_sizes: huge_page_sizes
                .iter()
                .map(|kib| page_size(kib << 10))
                .collect(),
            masked_paths: MASKED_PATHS
                .map(str::to_owned)
                .into_iter()
                .chain(throttles)
                .collect(),
        }
    }
}

/// A size in bytes as the kernel names it in `hugetlb.<size>.max`.
pub(crate) fn page_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut size = bytes;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while size >= 1024 && size.is_multiple_of(1024) && units.len() > 0 {
        size /= 1024;
        unit = units.next();
    }
    format!("{size}{}", unit.unwrap_or(&""))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[cfg(test)]
mod tests;
