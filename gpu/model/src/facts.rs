//! What does not change while a driver is loaded: the machine's GPUs and how they are wired.

use serde::{Deserialize, Serialize};

use crate::ids::{GpuUuid, PciAddress};

/// All GPUs of the machine as one scan found them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Versions.
    pub driver: DriverFacts,
    /// GPUs by NVML index. A GPU that did not answer is in `silent` instead.
    pub gpus: Vec<GpuFacts>,
    /// GPUs that could not be read, and why.
    pub silent: Vec<SilentGpu>,
    /// Closest common ancestor of each pair of `gpus`, `levels[i][j]`, by position in `gpus`.
    pub levels: Vec<Vec<TopologyLevel>>,
}

/// Versions of the driver and of what came with it. Empty text: not told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverFacts {
    /// Kernel driver, for instance `580.95.05`.
    pub driver: String,
    /// NVML library.
    pub nvml: String,
    /// Highest CUDA version the driver supports, major and minor.
    pub cuda: (u32, u32),
    /// The library says of itself that it is a simulator.
    pub simulated: bool,
}

/// A GPU that was counted but could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentGpu {
    /// NVML index.
    pub index: u32,
    /// UUID, if it was read before it fell silent.
    pub uuid: Option<GpuUuid>,
    /// What NVML said.
    pub fault: String,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuFacts {
    /// UUID.
    pub uuid: GpuUuid,
    /// NVML index, an order only: it may change over a reboot.
    pub index: u32,
    /// Minor number N of `/dev/nvidiaN`.
    pub minor: u32,
    /// Product name, for instance `NVIDIA H200`.
    pub name: String,
    /// Board serial number, if it has one.
    pub serial: Option<String>,
    /// Where it sits on the PCI bus.
    pub pci: PciAddress,
    /// NUMA node of the CPU side; `None` when the machine has no NUMA or does not tell.
    pub numa: Option<u32>,
    /// CPUs near it, as a list such as `0-47,96-143`; empty when not told.
    pub cpus: String,
    /// Memory in bytes.
    pub memory: u64,
    /// CUDA compute capability, major and minor.
    pub compute: (u32, u32),
    /// Architecture name in lower case, for instance `hopper`; empty when not told.
    pub architecture: String,
    /// ECC is on; `None` when the GPU has none.
    pub ecc: Option<bool>,
    /// NVLinks in link order, inactive ones included.
    pub links: Vec<NvLink>,
    /// MIG state, for a GPU that can do MIG.
    pub mig: Option<MigFacts>,
    /// NVLink fabric (NVSwitch machines): a GPU whose fabric is not complete cannot run CUDA.
    pub fabric: Option<FabricFacts>,
}

/// One NVLink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvLink {
    /// Link number.
    pub number: u32,
    /// It is up.
    pub active: bool,
    /// What is at the other end.
    pub peer: LinkPeer,
}

/// Other end of an NVLink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkPeer {
    /// Another GPU.
    Gpu(PciAddress),
    /// An NVSwitch: all GPUs behind switches reach each other equally.
    Switch,
    /// Anything else, or not told.
    Other,
}

/// Closest common ancestor of two GPUs on the PCI tree, nearest first (NVML's `nvmlGpuTopologyLevel_t`).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum TopologyLevel {
    /// On one board.
    Internal,
    /// One PCIe switch (`PIX`).
    SingleSwitch,
    /// Several PCIe switches, no host bridge (`PXB`).
    MultipleSwitches,
    /// One host bridge (`PHB`).
    HostBridge,
    /// One NUMA node, several host bridges (`NODE`).
    Node,
    /// Across NUMA nodes (`SYS`), or not told.
    #[default]
    System,
}

/// MIG state of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigFacts {
    /// MIG mode is on.
    pub enabled: bool,
    /// It will be after the next reset, or will be off.
    pub pending: bool,
    /// MIG devices that exist.
    pub devices: Vec<MigDevice>,
    /// GPU instances that could be made; empty when the driver tells them only while MIG is on.
    pub profiles: Vec<MigProfile>,
}

/// One kind of GPU instance that a GPU offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigProfile {
    /// Id that the driver takes to make one. It depends on the GPU.
    pub id: u32,
    /// Name as the driver gives it, for instance `1g.18gb`.
    pub name: String,
    /// Memory in bytes.
    pub memory: u64,
    /// How many fit on an empty GPU.
    pub instances: u32,
    /// Where one may lie: first memory slice and number of memory slices.
    pub placements: Vec<(u32, u32)>,
}

/// One MIG device: a compute instance in a GPU instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigDevice {
    /// UUID (`MIG-…`).
    pub uuid: GpuUuid,
    /// GPU instance id.
    pub gpu_instance: u32,
    /// Compute instance id.
    pub compute_instance: u32,
    /// Profile name as the driver gives it, for instance `1g.18gb`.
    pub profile: String,
    /// Memory in bytes.
    pub memory: u64,
}

/// State of the NVLink fabric of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FabricFacts {
    /// Registration with the fabric is complete.
    pub complete: bool,
    /// What the fabric says: `completed`, `in progress`, `not started`, or an error.
    pub state: String,
    /// Cluster UUID in hex, empty when not told.
    pub cluster: String,
    /// Clique inside the cluster.
    pub clique: u32,
}
