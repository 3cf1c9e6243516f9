//! What changes: one reading of one GPU, and what the probe reports over time.

use serde::{Deserialize, Serialize};

use crate::facts::MachineFacts;
use crate::ids::GpuUuid;

/// Live figures of one GPU. `None`: the GPU does not have it or did not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Memory in use, bytes.
    pub memory_used: Option<u64>,
    /// Share of time the GPU was busy, percent.
    pub utilization: Option<u32>,
    /// Share of time its memory was busy, percent.
    pub memory_utilization: Option<u32>,
    /// Core temperature, degrees Celsius.
    pub temperature: Option<u32>,
    /// Power draw, milliwatts.
    pub power: Option<u32>,
    /// Enforced power limit, milliwatts.
    pub power_limit: Option<u32>,
    /// SM clock, MHz.
    pub sm_clock: Option<u32>,
    /// Memory clock, MHz.
    pub memory_clock: Option<u32>,
    /// Clock event reasons, NVML's bit set.
    pub clock_reasons: Option<u64>,
    /// Recovery action the driver asks for (NVML field 230).
    pub recovery: Option<RecoveryAction>,
    /// Uncorrected ECC errors since the driver was loaded.
    pub ecc_uncorrected: Option<u64>,
    /// Corrected ECC errors since the driver was loaded.
    pub ecc_corrected: Option<u64>,
    /// Row remapping.
    pub remapped: Option<RemappedRows>,
    /// Processes on it.
    pub processes: Vec<GpuProcess>,
}

/// Recovery action, NVML field 230.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RecoveryAction {
    /// 0: nothing to do.
    None,
    /// 1: reset the GPU.
    GpuReset,
    /// 2: reboot the node.
    NodeReboot,
    /// 3: drain peer-to-peer traffic.
    DrainP2p,
    /// 4: drain, then reset.
    DrainAndReset,
    /// Any other value, later drivers have more.
    Other(u32),
}

/// Row remapping counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemappedRows {
    /// Rows remapped after correctable errors.
    pub correctable: u32,
    /// Rows remapped after uncorrectable errors.
    pub uncorrectable: u32,
    /// A remap waits for the next reset.
    pub pending: bool,
    /// A remap failed: the GPU has to be replaced.
    pub failed: bool,
}

/// A process with memory on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuProcess {
    /// Process id in the host's namespace.
    pub pid: u32,
    /// Memory it uses, bytes, if told.
    pub memory: Option<u64>,
    /// GPU and compute instance, for a process in a MIG device.
    pub instance: Option<(u32, u32)>,
}

/// Whether there is a working driver. Every state but `Ready` comes with zero GPUs, except that while it
/// is `Unresponsive` the GPUs that were known before stay known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DriverState {
    /// Not looked yet.
    Unknown,
    /// No `libnvidia-ml.so.1` where it was looked for.
    NoLibrary {
        /// The loader's words, with the paths tried.
        detail: String,
    },
    /// NVML return code 9.
    NotLoaded,
    /// NVML return code 18.
    VersionMismatch,
    /// Any other failed start of NVML.
    Broken {
        /// NVML return code.
        code: u32,
        /// Its text.
        detail: String,
    },
    /// The library does not answer in time, or its process cannot be kept alive.
    Unresponsive {
        /// What happened.
        detail: String,
    },
    /// It works.
    Ready,
}

/// What the probe tells its owner, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ProbeReport {
    /// The driver's state changed.
    Driver(DriverState),
    /// A scan is complete.
    Machine(Box<MachineFacts>),
    /// A reading of one GPU is complete.
    Reading(GpuUuid, Box<Reading>),
    /// An NVML event arrived.
    Event(GpuEvent),
    /// Events may have been lost: counters have to be read again.
    Missed,
    /// This GPU did not answer in time and is left alone for a while; the others go on.
    Unresponsive {
        /// Which one.
        gpu: GpuUuid,
        /// Which call hung or what failed.
        detail: String,
    },
    /// It answers again.
    Responsive(GpuUuid),
    /// NVML says that this GPU is lost (15), needs a reset (16) or fails in another per-GPU way.
    Lost {
        /// Which one.
        gpu: GpuUuid,
        /// NVML return code.
        code: u32,
    },
}

/// One NVML event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuEvent {
    /// GPU it belongs to; `None` when the driver could not tell.
    pub gpu: Option<GpuUuid>,
    /// NVML event type bits; 0x8 is an XID.
    pub kind: u64,
    /// Event data; for an XID its number.
    pub data: u64,
    /// GPU instance, if the event belongs to one.
    pub gpu_instance: Option<u32>,
    /// Compute instance, likewise.
    pub compute_instance: Option<u32>,
}
