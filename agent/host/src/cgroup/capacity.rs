//! What the node has, and what of it is for pods.

use std::collections::BTreeMap;
use std::fs;

use agent_core::Quantity;

/// Amounts by resource name.
pub type Amounts = BTreeMap<String, Quantity>;

/// What a node has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// CPUs.
    pub cpus: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Most processes.
    pub pids: u64,
    /// Bytes of huge pages by page size in bytes.
    pub hugepages: BTreeMap<u64, u64>,
}

impl Capacity {
    /// Reads the figures of this host. One that cannot be read is 0.
    pub fn of_host() -> Self {
        Self {
            cpus: cpus(&read("/proc/cpuinfo")),
            memory: memory(&read("/proc/meminfo")),
            pids: [
                number("/proc/sys/kernel/pid_max"),
                number("/proc/sys/kernel/threads-max"),
            ]
            .into_iter()
            .filter(|limit| *limit > 0)
            .min()
            .unwrap_or(0),
            hugepages: hugepages(),
        }
    }

    /// The same as amounts by resource name; `pid` stands for processes.
    pub fn amounts(&self) -> Amounts {
        let whole = |number: u64| Quantity::whole(i64::try_from(number).unwrap_or(i64::MAX));
        let mut amounts = Amounts::from([
            ("cpu".to_owned(), whole(self.cpus)),
            ("memory".to_owned(), whole(self.memory)),
            ("pid".to_owned(), whole(self.pids)),
        ]);
        for (size, bytes) in &self.hugepages {
            amounts.insert(hugepages_name(*size), whole(*bytes));
        }
        amounts
    }

    /// What is left of a resource without the reservations, at least nothing.
    pub(super) fn less(&self, name: &str, reserved: &[&Amounts]) -> Quantity {
        let all = self.amounts().get(name).copied().unwrap_or_default();
        let kept = reserved.iter().filter_map(|amounts| amounts.get(name));
        kept.fold(all, |left, kept| left.minus(*kept))
            .max(Quantity::default())
    }
}

/// Name of the resource for huge pages of a size: `hugepages-2Mi`.
pub(crate) fn hugepages_name(bytes: u64) -> String {
    match bytes {
        size if size % (1 << 30) == 0 => format!("hugepages-{}Gi", size >> 30),
        size if size % (1 << 20) == 0 => format!("hugepages-{}Mi", size >> 20),
        size => format!("hugepages-{}Ki", size >> 10),
    }
}

/// A page size as the names of hugetlb files have it: `64KB`, `2MB`, `1GB`.
pub(super) fn page_size(bytes: u64) -> String {
    match bytes {
        size if size % (1 << 30) == 0 => format!("{}GB", size >> 30),
        size if size % (1 << 20) == 0 => format!("{}MB", size >> 20),
        size => format!("{}KB", size >> 10),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn number(path: &str) -> u64 {
    read(path).trim().parse().unwrap_or(0)
}

fn cpus(cpuinfo: &str) -> u64 {
    let processors = cpuinfo.lines().filter(|line| line.starts_with("processor"));
    u64::try_from(processors.count()).unwrap_or(0)
}

fn memory(meminfo: &str) -> u64 {
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0).saturating_mul(1024)
}

/// Sizes and reserved bytes of huge pages.
fn hugepages() -> BTreeMap<u64, u64> {
    let mut sizes = BTreeMap::new();
    for entry in fs::read_dir("/sys/kernel/mm/hugepages")
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kibibytes = name
            .strip_prefix("hugepages-")
            .and_then(|rest| rest.strip_suffix("kB"));
        let Some(size) = kibibytes.and_then(|number| number.parse::<u64>().ok()) else {
            continue;
        };
        let pages = number(&entry.path().join("nr_hugepages").to_string_lossy());
        sizes.insert(
            size.saturating_mul(1024),
            pages.saturating_mul(size).saturating_mul(1024),
        );
    }
    sizes
}
