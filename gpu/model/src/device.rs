//! What can be held: whole GPUs and MIG devices, and who overlaps whom.

use serde::{Deserialize, Serialize};

use crate::ids::GpuUuid;

/// A whole GPU, or one MIG device of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Device {
    /// The GPU it is, or lies in.
    pub gpu: GpuUuid,
    /// The MIG device; `None` for the whole GPU.
    pub partition: Option<GpuUuid>,
}

impl Device {
    /// The whole GPU.
    pub fn whole(gpu: GpuUuid) -> Self {
        Self {
            gpu,
            partition: None,
        }
    }

    /// One MIG device of it.
    pub fn partition(gpu: GpuUuid, partition: GpuUuid) -> Self {
        Self {
            gpu,
            partition: Some(partition),
        }
    }

    /// UUID of the device itself.
    pub fn uuid(&self) -> &GpuUuid {
        self.partition.as_ref().unwrap_or(&self.gpu)
    }

    /// Whether both cannot have different holders: the same device, or a GPU and a part of it.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.gpu == other.gpu
            && match (&self.partition, &other.partition) {
                (Some(ours), Some(theirs)) => ours == theirs,
                _ => true,
            }
    }
}

/// Kind of device that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DeviceKind {
    /// A whole GPU that is not in MIG mode.
    Gpu,
    /// A MIG device with this profile name, for instance `1g.18gb`.
    Partition(String),
}
