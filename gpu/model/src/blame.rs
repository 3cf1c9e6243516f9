//! Which device an event is about.

use serde::{Deserialize, Serialize};

use crate::facts::GpuFacts;
use crate::ids::GpuUuid;
use crate::reading::GpuEvent;
use crate::xid::{Xid, XidScope};

/// A device that something was found out about: a GPU, or one MIG instance of it. MIG devices are
/// named by instance ids here, because these are what events carry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Target {
    /// The GPU.
    pub gpu: GpuUuid,
    /// GPU instance, and compute instance if it is only about that one; `None` for the whole GPU.
    pub instance: Option<(u32, Option<u32>)>,
}

/// Who is to blame for an XID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blame {
    /// This device.
    Target(Target),
    /// Some GPU, the driver could not tell which: all have to be looked at, none is taken away.
    AnyGpu,
}

impl Target {
    /// The whole GPU.
    pub fn gpu(gpu: GpuUuid) -> Self {
        Self {
            gpu,
            instance: None,
        }
    }

    /// Whether the MIG device with these instance ids is hit.
    pub fn covers(&self, gpu_instance: u32, compute_instance: u32) -> bool {
        match self.instance {
            None => true,
            Some((gpu, compute)) => {
                gpu == gpu_instance && compute.is_none_or(|compute| compute == compute_instance)
            }
        }
    }
}

/// Finds the device of an XID event. `facts` are those of the event's GPU, if they are known.
///
/// An instance counts only when the XID can be confined to it and the GPU is known to have it: the
/// reach of a fault in an unknown place is the whole GPU. A GPU nobody knows is as good as none named.
pub fn blame(event: &GpuEvent, code: u32, facts: Option<&GpuFacts>) -> Blame {
    let (Some(gpu), Some(_)) = (event.gpu.clone(), facts) else {
        return Blame::AnyGpu;
    };
    let instance = event
        .gpu_instance
        .filter(|_| Xid::of(code).scope == XidScope::Instance);
    let mig = facts
        .and_then(|facts| facts.mig.as_ref())
        .filter(|mig| mig.enabled);
    let devices = || mig.into_iter().flat_map(|mig| &mig.devices);
    let instance = instance.and_then(|wanted| {
        devices().find(|device| device.gpu_instance == wanted)?;
        let compute = event.compute_instance.filter(|compute| {
            devices().any(|d| d.gpu_instance == wanted && d.compute_instance == *compute)
        });
        Some((wanted, compute))
    });
    Blame::Target(Target { gpu, instance })
}

#[cfg(test)]
mod tests;
