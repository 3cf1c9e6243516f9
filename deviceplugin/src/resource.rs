//! Resource names and what stands behind them.

use std::collections::BTreeMap;

use gpu_keeper::GpuSnapshot;
use gpu_model::{DeviceKind, HealthState, Presence};

/// Whole GPUs.
pub const GPU_RESOURCE: &str = "nvidia.com/gpu";
/// MIG devices: this and the profile (strategy `mixed` of NVIDIA's device plugin).
const MIG_PREFIX: &str = "nvidia.com/mig-";

/// A resource of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Name.
    pub name: String,
    /// Devices that there are, or were and may come back.
    pub capacity: usize,
    /// Of these, how many are well enough to be used.
    pub allocatable: usize,
}

/// All resources of this node. GPUs are always listed, with zero on a node without.
pub fn resources(snapshot: &GpuSnapshot) -> Vec<Resource> {
    let mut found = BTreeMap::from([(GPU_RESOURCE.to_owned(), (0, 0))]);
    for gpu in &snapshot.gpus {
        let usable = gpu.presence == Presence::Present && gpu.health <= HealthState::Degraded;
        let mut count = |name: String| {
            let (capacity, allocatable) = found.entry(name).or_default();
            *capacity += 1;
            *allocatable += usize::from(usable);
        };
        match gpu.facts.mig.as_ref().filter(|mig| mig.enabled) {
            None => count(GPU_RESOURCE.to_owned()),
            Some(mig) => mig
                .devices
                .iter()
                .for_each(|device| count(mig_name(&device.profile))),
        }
    }
    let resource = |(name, (capacity, allocatable))| Resource {
        name,
        capacity,
        allocatable,
    };
    found.into_iter().map(resource).collect()
}

/// Kind of device behind a resource name; `None` for a name that is not ours.
pub(crate) fn kind(name: &str, snapshot: &GpuSnapshot) -> Option<DeviceKind> {
    if name == GPU_RESOURCE {
        return Some(DeviceKind::Gpu);
    }
    let suffix = name
        .strip_prefix(MIG_PREFIX)
        .filter(|suffix| !suffix.is_empty())?;
    // A name has a dot where its profile has a plus, so the profile is found by the name of each that there is.
    let all = snapshot
        .gpus
        .iter()
        .filter_map(|gpu| gpu.facts.mig.as_ref());
    let mut profiles = all
        .flat_map(|mig| &mig.devices)
        .map(|device| &device.profile);
    let profile = profiles.find(|profile| mig_name(profile) == name);
    Some(DeviceKind::Partition(
        profile.cloned().unwrap_or_else(|| suffix.to_owned()),
    ))
}

fn mig_name(profile: &str) -> String {
    format!("{MIG_PREFIX}{}", profile.replace('+', "."))
}

#[cfg(test)]
mod tests;
