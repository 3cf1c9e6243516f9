//! One GPU of the simulated machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Ecc, Link, Mig, Text};

/// Everything NVML tells about one GPU. Units are those of the NVML call that reads the value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gpu {
    /// Device minor number (`/dev/nvidia<minor>`); also the number by which `gpusim` knows the GPU.
    pub minor: u32,
    /// Plugged in; a hot-removed GPU is not.
    pub present: bool,
    /// Fallen off the bus: every call on it answers code 15.
    pub lost: bool,
    /// `GPU-<uuid>`
    pub uuid: Text,
    /// Product name.
    pub name: Text,
    /// Serial number of the board.
    pub serial: Text,
    /// Part number of the board.
    pub board_part_number: Text,
    /// VBIOS version.
    pub vbios: Text,
    /// InfoROM image version.
    pub inforom_image: Text,
    /// `nvmlBrandType_t`
    pub brand: u32,
    /// `nvmlDeviceArchitecture_t`
    pub architecture: u32,
    /// CUDA compute capability, major and minor.
    pub compute_capability: (i32, i32),
    /// CUDA cores.
    pub cores: u32,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Position on the base board.
    pub module_id: u32,
    /// Interrupt line.
    pub irq: u32,
    /// PCI address, ids and link.
    pub pci: Pci,
    /// NUMA node of the CPUs that are near.
    pub numa_node: u32,
    /// NUMA node that the GPU's own memory forms (coherent machines only).
    pub memory_numa_node: Option<u32>,
    /// CPUs that are near, for instance `0-55,112-167`.
    pub cpus: String,
    /// Device memory.
    pub memory: Memory,
    /// PCI window.
    pub bar1: Bar1,
    /// Use of the engines in percent.
    pub utilization: Utilization,
    /// Temperatures and their limits in degrees Celsius.
    pub temperature: Temperature,
    /// Fan speeds in percent; empty when the GPU has none.
    pub fans: Vec<u32>,
    /// Power and energy.
    pub power: Power,
    /// Clocks in MHz and what lowers them.
    pub clocks: Clocks,
    /// Memory errors.
    pub ecc: Ecc,
    /// `nvmlDeviceGetPersistenceMode`
    pub persistence_mode: bool,
    /// `nvmlComputeMode_t`
    pub compute_mode: u32,
    /// GSP firmware version; empty when the firmware is not in use.
    pub gsp_firmware: Text,
    /// Event types that can be registered.
    pub supported_events: u64,
    /// Field 230: what would repair the GPU (0 nothing, 1 reset, 2 reboot, 3 drain P2P, ...); absent
    /// when the driver does not tell.
    pub recovery_action: Option<u32>,
    /// NVLink fabric registration; absent where there is no fabric manager.
    pub fabric: Option<Fabric>,
    /// NVLinks.
    pub nvlinks: Vec<Link>,
    /// MIG; absent when the GPU cannot.
    pub mig: Option<Mig>,
    /// Processes on the GPU.
    pub processes: Vec<Process>,
    /// GPM metrics by id; absent when the GPU has no GPM.
    pub gpm: Option<BTreeMap<u32, f64>>,
    /// Field values that are told instead of the simulator's own, by field id.
    pub fields: BTreeMap<u32, u64>,
}

/// PCI identity and link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pci {
    /// Address as in sysfs, for instance `0000:1b:00.0`.
    pub address: Text,
    /// Device id in the upper and vendor id in the lower 16 bits.
    pub device_id: u32,
    /// Subsystem id in the same form.
    pub subsystem_id: u32,
    /// Link generation now.
    pub generation: u32,
    /// Highest generation that GPU and slot can.
    pub max_generation: u32,
    /// Lanes now.
    pub width: u32,
    /// Most lanes.
    pub max_width: u32,
    /// Replays.
    pub replays: u32,
    /// Sent, KB/s.
    pub transmit_kbps: u32,
    /// Received, KB/s.
    pub receive_kbps: u32,
}

/// Device memory in bytes. Free is what is left of `total`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// All.
    pub total: u64,
    /// Kept by driver and firmware.
    pub reserved: u64,
    /// In use.
    pub used: u64,
}

/// The PCI window in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bar1 {
    /// All.
    pub total: u64,
    /// In use.
    pub used: u64,
}

/// Use of the engines in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Utilization {
    /// Time in which a kernel ran.
    pub gpu: u32,
    /// Time in which memory was read or written.
    pub memory: u32,
    /// Video encoders.
    pub encoder: u32,
    /// Video decoders.
    pub decoder: u32,
}

/// Temperatures in degrees Celsius.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Temperature {
    /// Core.
    pub gpu: i32,
    /// Memory, where it has a sensor.
    pub memory: Option<i32>,
    /// Shutdown threshold.
    pub shutdown: u32,
    /// Slowdown threshold.
    pub slowdown: u32,
    /// Highest memory temperature in operation.
    pub memory_max: u32,
    /// Highest core temperature in operation.
    pub gpu_max: u32,
}

/// Power in mW, energy in mJ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Power {
    /// Draw.
    pub usage: u32,
    /// Limit in effect.
    pub limit: u32,
    /// Limit after power-on.
    pub default_limit: u32,
    /// Lowest limit that can be set.
    pub min_limit: u32,
    /// Highest limit that can be set.
    pub max_limit: u32,
    /// Energy since the driver was loaded. It does not grow by itself.
    pub energy: u64,
}

/// Clocks in MHz.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clocks {
    /// Graphics clock.
    pub graphics: u32,
    /// Multiprocessor clock.
    pub sm: u32,
    /// Memory clock.
    pub memory: u32,
    /// Video clock.
    pub video: u32,
    /// Highest graphics and multiprocessor clock.
    pub max_graphics: u32,
    /// Highest memory clock.
    pub max_memory: u32,
    /// Highest video clock.
    pub max_video: u32,
    /// Lowest and highest graphics clock that an administrator locked.
    pub locked: Option<(u32, u32)>,
    /// `nvmlClocksEventReason*` bits in effect.
    pub event_reasons: u64,
    /// Performance state: 0 is the fastest.
    pub performance_state: u32,
}

/// Registration of the GPU with the NVLink fabric.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fabric {
    /// 0 not supported, 1 not started, 2 in progress, 3 completed.
    pub state: u8,
    /// `nvmlReturn_t` of the registration, valid in state 3.
    pub status: u32,
    /// Clique in the cluster.
    pub clique_id: u32,
    /// UUID of the cluster in the usual text form; zeros inside one machine.
    pub cluster_uuid: String,
    /// Health bits.
    pub health_mask: u32,
    /// 0 not supported, 1 healthy, 2 unhealthy, 3 limited capacity.
    pub health_summary: u8,
}

/// A process on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Which list names it.
    pub kind: ProcessKind,
    /// Device memory in bytes.
    pub used_memory: u64,
    /// GPU instance it runs in.
    pub gpu_instance: Option<u32>,
    /// Compute instance it runs in.
    pub compute_instance: Option<u32>,
}

/// Kind of work of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessKind {
    /// Has a compute context.
    Compute,
    /// Has a graphics context.
    Graphics,
    /// Works through MPS.
    Mps,
}

impl Gpu {
    /// Whether MIG mode is on.
    pub fn in_mig_mode(&self) -> bool {
        self.mig.as_ref().is_some_and(|mig| mig.current)
    }

    /// Takes up the state that a reset, a driver reload or a new plugging-in leaves: no instances, no
    /// processes, volatile counts at zero, pending modes in effect, nothing left to repair.
    pub fn reset(&mut self) {
        self.lost = false;
        self.processes.clear();
        self.memory.used = 0;
        self.ecc.volatile = super::EccCounts::default();
        self.ecc.sram.volatile_parity = 0;
        self.ecc.retirement_pending = false;
        self.ecc.current = self.ecc.current.map(|_| self.ecc.pending);
        if let Some(rows) = &mut self.ecc.remapped_rows {
            rows.pending = false;
        }
        self.recovery_action = self.recovery_action.map(|_| 0);
        self.clocks.event_reasons = 0;
        if let Some(mig) = &mut self.mig {
            mig.current = mig.pending;
            mig.instances.clear();
        }
    }
}
