//! One GPU.

use proto::gpulet as wire;
use serde::Serialize;

use super::Moment;

/// One GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Gpu {
    /// NVML index: an order only, it may change over a reboot.
    pub(crate) index: u32,
    pub(crate) uuid: String,
    /// N of `/dev/nvidiaN`.
    pub(crate) minor: Option<u32>,
    pub(crate) name: String,
    pub(crate) serial: String,
    pub(crate) pci: String,
    pub(crate) numa_node: Option<u32>,
    /// CPUs near it.
    pub(crate) cpus: String,
    pub(crate) memory_bytes: u64,
    pub(crate) compute_capability: String,
    pub(crate) architecture: String,
    /// Device nodes that a container gets with it.
    pub(crate) device_nodes: Vec<String>,
    pub(crate) mig_enabled: bool,
    pub(crate) mig_devices: Vec<MigDevice>,
    /// MIG devices that could be made; empty when the driver tells them only while MIG is on.
    pub(crate) mig_profiles: Vec<MigProfile>,
    /// NVLinks that are up.
    pub(crate) links_active: u32,
    /// State of its NVLink fabric; empty when it has none.
    pub(crate) fabric: String,
    pub(crate) health: Health,
    /// Newest figures; `null` when it did not tell.
    pub(crate) reading: Option<Reading>,
    /// Who holds it or a part of it; `null` when nobody who knows was asked.
    pub(crate) holders: Option<Vec<Holder>>,
}

/// How it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Health {
    /// `healthy`, `degraded`, `unhealthy`, `unresponsive` or `unmonitored`.
    pub(crate) state: String,
    /// `none`, `drain`, `reset`, `reboot` or `replace`.
    pub(crate) action: String,
    pub(crate) since: Option<Moment>,
    /// Why, oldest first.
    pub(crate) findings: Vec<Finding>,
}

/// One thing that is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    pub(crate) cause: String,
    pub(crate) message: String,
    pub(crate) first_seen: Option<Moment>,
    pub(crate) last_seen: Option<Moment>,
    pub(crate) count: u64,
    /// How this ends.
    pub(crate) clears: String,
    pub(crate) xid: Option<u32>,
}

/// Live figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reading {
    pub(crate) at: Option<Moment>,
    pub(crate) memory_used_bytes: Option<u64>,
    pub(crate) utilization_percent: Option<u32>,
    pub(crate) memory_utilization_percent: Option<u32>,
    pub(crate) temperature_celsius: Option<u32>,
    pub(crate) power_milliwatts: Option<u32>,
    pub(crate) power_limit_milliwatts: Option<u32>,
    pub(crate) sm_clock_mhz: Option<u32>,
    pub(crate) memory_clock_mhz: Option<u32>,
    /// Why clocks are lower than they could be.
    pub(crate) clock_reasons: Vec<String>,
    pub(crate) ecc_corrected: Option<u64>,
    pub(crate) ecc_uncorrected: Option<u64>,
    pub(crate) rows_remapped: Option<u32>,
    pub(crate) remap_pending: Option<bool>,
    pub(crate) remap_failed: Option<bool>,
    pub(crate) processes: Vec<Process>,
}

/// A process that uses it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) memory_bytes: Option<u64>,
    /// Empty, like the next two, for a process that belongs to no pod, or when only NVML was asked.
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) container: String,
}

/// A MIG device of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MigDevice {
    pub(crate) uuid: String,
    pub(crate) profile: String,
    pub(crate) gpu_instance: u32,
    pub(crate) compute_instance: u32,
    pub(crate) memory_bytes: u64,
}

/// A kind of MIG device that it offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MigProfile {
    pub(crate) name: String,
    pub(crate) memory_bytes: u64,
    /// How many fit on an empty GPU.
    pub(crate) instances: u32,
    /// Where one may lie: first memory slice and number of slices, as `4:2`.
    pub(crate) placements: Vec<String>,
}

/// A container that holds it or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Holder {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) uid: String,
    pub(crate) container: String,
    pub(crate) since: Option<Moment>,
    /// The MIG device that it holds; empty for the whole GPU.
    pub(crate) mig_uuid: String,
}

impl Gpu {
    /// Its figures are there and not those of a better past.
    pub(crate) fn is_read(&self) -> bool {
        let silent = ["unresponsive", "unmonitored"].contains(&self.health.state.as_str());
        self.reading.is_some() && !silent
    }
}

/// NVML's clock event reasons (`nvmlClocksEventReason*` of `nvml.h`).
const CLOCK_REASONS: [(u64, &str); 9] = [
    (0x1, "idle"),
    (0x2, "application clocks"),
    (0x4, "software power cap"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "hardware power brake"),
    (0x100, "display clocks"),
];

/// The bits in words; those without a name are left out.
pub(crate) fn clock_reasons(bits: Option<u64>) -> Vec<String> {
    let bits = bits.unwrap_or(0);
    let set = CLOCK_REASONS.iter().filter(|(bit, _)| bits & bit != 0);
    set.map(|(_, name)| (*name).to_owned()).collect()
}

impl From<wire::Gpu> for Gpu {
    fn from(told: wire::Gpu) -> Self {
        Self {
            index: told.index,
            uuid: told.uuid,
            minor: Some(told.minor),
            name: told.name,
            serial: told.serial,
            pci: told.pci,
            numa_node: u32::try_from(told.numa_node).ok(),
            cpus: told.cpus,
            memory_bytes: told.memory_bytes,
            compute_capability: told.compute_capability,
            architecture: told.architecture,
            device_nodes: told.device_nodes,
            mig_enabled: told.mig_enabled,
            mig_devices: told.mig_devices.into_iter().map(MigDevice::from).collect(),
            mig_profiles: told
                .mig_profiles
                .into_iter()
                .map(MigProfile::from)
                .collect(),
            links_active: told.links_active,
            fabric: told.fabric,
            health: told.health.map(Health::from).unwrap_or_default(),
            reading: told.reading.map(Reading::from),
            holders: Some(told.holders.into_iter().map(Holder::from).collect()),
        }
    }
}

impl From<wire::Health> for Health {
    fn from(told: wire::Health) -> Self {
        Self {
            state: told.state,
            action: told.action,
            since: Moment::told(told.since),
            findings: told.findings.into_iter().map(Finding::from).collect(),
        }
    }
}

impl From<wire::Finding> for Finding {
    fn from(told: wire::Finding) -> Self {
        Self {
            cause: told.cause,
            message: told.message,
            first_seen: Moment::told(told.first_seen),
            last_seen: Moment::told(told.last_seen),
            count: told.count,
            clears: told.clears,
            xid: told.xid,
        }
    }
}

impl From<wire::Reading> for Reading {
    fn from(told: wire::Reading) -> Self {
        Self {
            at: Moment::told(told.at),
            memory_used_bytes: told.memory_used,
            utilization_percent: told.utilization,
            memory_utilization_percent: told.memory_utilization,
            temperature_celsius: told.temperature,
            power_milliwatts: told.power_milliwatts,
            power_limit_milliwatts: told.power_limit_milliwatts,
            sm_clock_mhz: told.sm_clock,
            memory_clock_mhz: told.memory_clock,
            clock_reasons: clock_reasons(told.clock_reasons),
            ecc_corrected: told.ecc_corrected,
            ecc_uncorrected: told.ecc_uncorrected,
            rows_remapped: told.rows_remapped,
            remap_pending: told.remap_pending,
            remap_failed: told.remap_failed,
            processes: told.processes.into_iter().map(Process::from).collect(),
        }
    }
}

impl From<wire::Process> for Process {
    fn from(told: wire::Process) -> Self {
        let wire::Process {
            pid,
            memory_bytes,
            namespace,
            pod,
            container,
        } = told;
        Self {
            pid,
            memory_bytes,
            namespace,
            pod,
            container,
        }
    }
}

impl From<wire::MigDevice> for MigDevice {
    fn from(told: wire::MigDevice) -> Self {
        let wire::MigDevice {
            uuid,
            profile,
            gpu_instance,
            compute_instance,
            memory_bytes,
        } = told;
        Self {
            uuid,
            profile,
            gpu_instance,
            compute_instance,
            memory_bytes,
        }
    }
}

impl From<wire::MigProfile> for MigProfile {
    fn from(told: wire::MigProfile) -> Self {
        let wire::MigProfile {
            name,
            memory_bytes,
            instances,
            placements,
        } = told;
        Self {
            name,
            memory_bytes,
            instances,
            placements,
        }
    }
}

impl From<wire::Holder> for Holder {
    fn from(told: wire::Holder) -> Self {
        Self {
            namespace: told.namespace,
            pod: told.pod,
            uid: told.uid,
            container: told.container,
            since: Moment::told(told.since),
            mig_uuid: told.mig_uuid,
        }
    }
}
