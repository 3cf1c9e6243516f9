//! Which GPUs the demo has: this machine's own, else simulated ones.

use std::fs;
use std::path::Path;

use anyhow::Result;

/// NVIDIA's kernel driver, loaded, has this file.
const DRIVER: &str = "/proc/driver/nvidia/version";
const PROFILE: &str = "h200x8";

/// Where the GPUs come from.
pub(crate) enum Machine {
    /// The loaded driver, by its own first line.
    Real(String),
    /// The simulator.
    Simulated,
}

/// Pods by their number of GPUs.
pub(crate) struct Plan {
    /// Those that fit together.
    pub(crate) running: Vec<u32>,
    /// One that fits only once the last of them has ended.
    pub(crate) waiting: u32,
}

impl Machine {
    /// Looks for the driver.
    pub(crate) fn look() -> Result<Machine> {
        if !Path::new(DRIVER).exists() {
            return Ok(Machine::Simulated);
        }
        let text = fs::read_to_string(DRIVER)?;
        Ok(Machine::Real(
            text.lines().next().unwrap_or_default().to_owned(),
        ))
    }

    /// The simulator's profile; none on a real machine.
    pub(crate) fn profile(&self) -> Option<&'static str> {
        match self {
            Machine::Real(_) => None,
            Machine::Simulated => Some(PROFILE),
        }
    }

    /// One line for the reader.
    pub(crate) fn describe(&self) -> String {
        match self {
            Machine::Real(driver) => format!("this machine's own GPUs ({driver})"),
            Machine::Simulated => "eight SIMULATED H200 (this machine has no NVIDIA driver); \
                                   containerd, runc, cgroups and network are real"
                .to_owned(),
        }
    }
}

/// 1, 2 and 4 as far as they fit, then one that is larger than the rest.
pub(crate) fn plan(count: u32) -> Plan {
    let mut running = vec![1];
    let mut left = count.saturating_sub(1);
    for gpus in [2, 4] {
        if gpus <= left {
            running.push(gpus);
            left -= gpus;
        }
    }
    let last = running.last().copied().unwrap_or(1);
    Plan {
        running,
        waiting: last.max(left + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::plan;

    #[test]
    fn the_waiting_pod_fits_exactly_when_the_last_one_ends() {
        for count in 1..=16 {
            let plan = plan(count);
            let used: u32 = plan.running.iter().sum();
            let last = plan.running.last().copied().unwrap_or_default();
            assert!(used <= count, "{count}");
            assert!(used + plan.waiting > count, "{count}");
            assert!(used - last + plan.waiting <= count, "{count}");
        }
    }
}
