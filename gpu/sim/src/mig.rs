//! MIG arithmetic: which placements are free, which instance gets created where.

use crate::code::{Code, INSUFFICIENT_RESOURCES, INVALID_ARGUMENT, NOT_FOUND};
use crate::state::{ComputeInstance, Gpu, GpuInstance, Mig, MigProfile, Text};
use crate::uuid;

/// `NVML_COMPUTE_INSTANCE_PROFILE_*` and the number of compute slices of each.
const COMPUTE_PROFILES: &[(u32, u32)] = &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 7), (5, 8), (6, 6)];

/// A range of slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) start: u32,
    pub(crate) size: u32,
}

impl Placement {
    fn overlaps(self, other: Self) -> bool {
        self.start < other.start.saturating_add(other.size)
            && other.start < self.start.saturating_add(self.size)
    }
}

/// All placements of a profile.
pub(crate) fn placements(profile: &MigProfile) -> Vec<Placement> {
    let size = profile.size;
    profile
        .starts
        .iter()
        .map(|start| Placement {
            start: *start,
            size,
        })
        .collect()
}

/// How many more instances of a profile fit now.
pub(crate) fn remaining(mig: &Mig, profile: &MigProfile) -> u32 {
    let taken: Vec<Placement> = mig.instances.iter().map(place_of).collect();
    remaining_beside(&taken, count(mig, profile), profile)
}

/// Creates a GPU instance, at this start when given, else where most room is left for others.
pub(crate) fn create_instance(
    mig: &mut Mig,
    profiles: &[MigProfile],
    id: u32,
    wanted: Option<Placement>,
) -> Result<u64, Code> {
    let profile = profiles
        .iter()
        .find(|profile| profile.id == id)
        .ok_or(INVALID_ARGUMENT)?;
    let legal = placements(profile);
    if wanted.is_some_and(|wanted| !legal.contains(&wanted)) {
        return Err(INVALID_ARGUMENT);
    }
    if count(mig, profile) >= profile.instances {
        return Err(INSUFFICIENT_RESOURCES);
    }
    let taken: Vec<Placement> = mig.instances.iter().map(place_of).collect();
    let room_after = |place: Placement| -> u32 {
        let taken: Vec<Placement> = taken.iter().copied().chain([place]).collect();
        let room =
            |other: &MigProfile| remaining_beside(&taken, 0, other).saturating_mul(other.size);
        profiles.iter().map(room).fold(0, u32::saturating_add)
    };
    let place = legal
        .into_iter()
        .filter(|place| wanted.is_none_or(|wanted| wanted == *place))
        .filter(|place| !taken.iter().any(|other| other.overlaps(*place)))
        .max_by_key(|place| (room_after(*place), place.start))
        .ok_or(INSUFFICIENT_RESOURCES)?;
    mig.created = mig.created.saturating_add(1);
    mig.instances.push(GpuInstance {
        id: instance_id(profiles, place),
        serial: mig.created,
        profile: profile.id,
        start: place.start,
        size: place.size,
        compute: Vec::new(),
    });
    Ok(mig.created)
}

/// Creates a compute instance in a GPU instance, at this start when given, else at the first free.
pub(crate) fn create_compute(
    mig: &mut Mig,
    profiles: &[MigProfile],
    gpu_uuid: &str,
    serial: u64,
    profile: u32,
    wanted: Option<Placement>,
) -> Result<u64, Code> {
    let index = free_index(mig);
    let created = mig.created.saturating_add(1);
    let instance = mig
        .instances
        .iter_mut()
        .find(|instance| instance.serial == serial);
    let instance = instance.ok_or(INVALID_ARGUMENT)?;
    let of = profiles
        .iter()
        .find(|profile| profile.id == instance.profile)
        .ok_or(NOT_FOUND)?;
    let legal = compute_placements(of, profile).ok_or(INVALID_ARGUMENT)?;
    if wanted.is_some_and(|wanted| !legal.contains(&wanted)) {
        return Err(INVALID_ARGUMENT);
    }
    let place = legal
        .into_iter()
        .filter(|place| wanted.is_none_or(|wanted| wanted == *place))
        .find(|place| {
            !instance
                .compute
                .iter()
                .any(|other| compute_place_of(other).overlaps(*place))
        })
        .ok_or(INSUFFICIENT_RESOURCES)?;
    let used: Vec<u32> = instance.compute.iter().map(|compute| compute.id).collect();
    let uuid = uuid::from_words(&[gpu_uuid, "mig", &created.to_string()]);
    instance.compute.push(ComputeInstance {
        id: (0..).find(|id| !used.contains(id)).unwrap_or(u32::MAX),
        serial: created,
        profile,
        start: place.start,
        size: place.size,
        index,
        uuid: Text::from(format!("MIG-{uuid}")),
    });
    mig.created = created;
    Ok(created)
}

/// Number of slices of a compute-instance profile.
pub(crate) fn compute_slices(profile: u32) -> Option<u32> {
    COMPUTE_PROFILES
        .iter()
        .find(|(known, _)| *known == profile)
        .map(|(_, slices)| *slices)
}

/// Placements of a compute-instance profile in a GPU instance; `None` when it does not fit at all.
/// Starts go as for GPU instances: every slice for one, every second for two, every fourth for more.
pub(crate) fn compute_placements(of: &MigProfile, profile: u32) -> Option<Vec<Placement>> {
    let size = compute_slices(profile).filter(|size| *size <= of.slices)?;
    let step = match size {
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let starts = (0..=of.slices - size).step_by(step);
    Some(starts.map(|start| Placement { start, size }).collect())
}

/// How many more compute instances of a profile fit in a GPU instance.
pub(crate) fn compute_remaining(
    instance: &GpuInstance,
    of: &MigProfile,
    profile: u32,
) -> Option<u32> {
    let taken: Vec<Placement> = instance.compute.iter().map(compute_place_of).collect();
    Some(fitting(&taken, &compute_placements(of, profile)?))
}

/// Multiprocessors of a compute instance with so many slices: all when it has all slices, else those
/// of the plain GPU-instance profile of that size (they do not grow evenly with the slices).
pub(crate) fn compute_multiprocessors(
    profiles: &[MigProfile],
    of: &MigProfile,
    slices: u32,
) -> u32 {
    if slices == of.slices {
        return of.multiprocessors;
    }
    let plain = profiles.iter().find(|profile| profile.slices == slices);
    plain.map_or(0, |profile| profile.multiprocessors)
}

/// `3g.71gb` for a whole GPU instance, `1c.3g.71gb` for a part of it.
pub(crate) fn compute_name(of: &MigProfile, slices: u32) -> String {
    if slices == of.slices {
        of.name.to_string()
    } else {
        format!("{slices}c.{}", of.name)
    }
}

/// Most MIG devices that can exist on a GPU.
pub(crate) fn most_devices(gpu: &Gpu, profiles: &[MigProfile]) -> u32 {
    let most = profiles
        .iter()
        .map(|profile| profile.instances)
        .max()
        .unwrap_or(0);
    if gpu.in_mig_mode() { most } else { 0 }
}

fn place_of(instance: &GpuInstance) -> Placement {
    Placement {
        start: instance.start,
        size: instance.size,
    }
}

fn compute_place_of(compute: &ComputeInstance) -> Placement {
    Placement {
        start: compute.start,
        size: compute.size,
    }
}

fn count(mig: &Mig, profile: &MigProfile) -> u32 {
    let same = mig
        .instances
        .iter()
        .filter(|instance| instance.profile == profile.id);
    u32::try_from(same.count()).unwrap_or(u32::MAX)
}

fn remaining_beside(taken: &[Placement], existing: u32, profile: &MigProfile) -> u32 {
    fitting(taken, &placements(profile)).min(profile.instances.saturating_sub(existing))
}

/// How many of the placements fit beside the taken ones and beside each other. They have one size,
/// so taking the first that fits is best.
fn fitting(taken: &[Placement], legal: &[Placement]) -> u32 {
    let mut taken = taken.to_vec();
    let mut number = 0;
    for place in legal {
        if !taken.iter().any(|other| other.overlaps(*place)) {
            taken.push(*place);
            number += 1;
        }
    }
    number
}

/// GPU-instance ids number the nodes of the placement tree: 0 is the whole GPU, then the halves, the
/// quarters and the single slices, which gives 7 to 13 for the single ones as on real machines.
fn instance_id(profiles: &[MigProfile], place: Placement) -> u32 {
    let whole = profiles
        .iter()
        .map(|profile| profile.size)
        .max()
        .unwrap_or(1);
    let parts = whole / place.size.max(1);
    parts
        .saturating_sub(1)
        .saturating_add(place.start / place.size.max(1))
}

fn free_index(mig: &Mig) -> u32 {
    let used: Vec<u32> = mig
        .instances
        .iter()
        .flat_map(|instance| instance.compute.iter().map(|compute| compute.index))
        .collect();
    (0..)
        .find(|index| !used.contains(index))
        .unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
