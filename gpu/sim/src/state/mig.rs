//! MIG: the profiles a GPU offers and the instances that exist on it.

use serde::{Deserialize, Serialize};

use super::Text;

/// MIG mode and instances of one GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mig {
    /// Mode in effect.
    pub current: bool,
    /// Mode after the next reset.
    pub pending: bool,
    /// A change of mode needs no reset (Hopper and later).
    pub resetless: bool,
    /// Profiles can be asked for while the mode is off.
    pub query_without_mode: bool,
    /// Number of instances ever created; makes identities unique.
    pub created: u64,
    /// GPU instances that exist.
    pub instances: Vec<GpuInstance>,
}

/// A GPU instance: a share of memory and of multiprocessors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuInstance {
    /// Id on this GPU, used again after the instance is gone.
    pub id: u32,
    /// Never used again on this GPU.
    pub serial: u64,
    /// `id` of its [`MigProfile`].
    pub profile: u32,
    /// First memory slice.
    pub start: u32,
    /// Number of memory slices.
    pub size: u32,
    /// Compute instances in it.
    pub compute: Vec<ComputeInstance>,
}

/// A compute instance: the multiprocessors of a GPU instance, or some of them. It is what NVML
/// calls a MIG device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputeInstance {
    /// Id in this GPU instance.
    pub id: u32,
    /// Never used again on this GPU.
    pub serial: u64,
    /// Number of the profile: `NVML_COMPUTE_INSTANCE_PROFILE_*`.
    pub profile: u32,
    /// First compute slice.
    pub start: u32,
    /// Number of compute slices.
    pub size: u32,
    /// Index of the MIG device under its GPU.
    pub index: u32,
    /// `MIG-<uuid>`
    pub uuid: Text,
}

/// A GPU-instance profile, as `nvidia-smi mig -lgip` and `-lgipp` list it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigProfile {
    /// `NVML_GPU_INSTANCE_PROFILE_*`, the argument of the profile query.
    pub profile: u32,
    /// Id that creation and placement take.
    pub id: u32,
    /// For instance `1g.18gb`.
    pub name: Text,
    /// Compute slices.
    pub slices: u32,
    /// Memory of an instance in MiB.
    pub memory_mib: u64,
    /// Streaming multiprocessors of an instance.
    pub multiprocessors: u32,
    /// How many instances one GPU can have.
    pub instances: u32,
    /// Memory slices of an instance.
    pub size: u32,
    /// Memory slices at which an instance can start.
    pub starts: Vec<u32>,
    /// Engines of an instance.
    pub engines: Engines,
}

/// Engines of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Engines {
    /// Copy engines.
    pub copy: u32,
    /// Video decoders.
    pub decoder: u32,
    /// Video encoders.
    pub encoder: u32,
    /// JPEG decoders.
    pub jpeg: u32,
    /// Optical flow accelerators.
    pub optical_flow: u32,
}
