//! Which GPUs this machine has, had, and can give out.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::facts::{DriverFacts, GpuFacts, MachineFacts, SilentGpu};
use crate::ids::GpuUuid;
use crate::topology::Topology;

/// All GPUs that are known, those that fell silent or went missing included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inventory {
    driver: DriverFacts,
    gpus: BTreeMap<GpuUuid, KnownGpu>,
    /// GPUs that were counted in the last scan but are not among `gpus`.
    nameless: usize,
    topology: Topology,
    scanned: bool,
}

/// A GPU that was read at least once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownGpu {
    /// As it was read last.
    pub facts: GpuFacts,
    /// Where it is now.
    pub presence: Presence,
}

/// Whether the last scan found a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Presence {
    /// It was found and read.
    Present,
    /// It was counted and could not be read; with what NVML said.
    Silent(String),
    /// It was not there, or there was no scan yet.
    Missing,
}

/// A GPU that came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InventoryChange {
    /// It is there for the first time.
    Added(GpuUuid),
    /// It is there again.
    Returned(GpuUuid),
    /// It does not answer the scan.
    FellSilent(GpuUuid),
    /// It is no longer there.
    Vanished(GpuUuid),
    /// Another GPU sits in its slot: it is forgotten.
    Replaced {
        /// The one that is gone.
        old: GpuUuid,
        /// The one in its place.
        new: GpuUuid,
    },
}

impl Inventory {
    /// What was known before a restart. Nothing of it counts as present before a scan.
    pub fn recalled(gpus: impl IntoIterator<Item = GpuFacts>) -> Self {
        let missing = |facts: GpuFacts| {
            (
                facts.uuid.clone(),
                KnownGpu {
                    facts,
                    presence: Presence::Missing,
                },
            )
        };
        Self {
            gpus: gpus.into_iter().map(missing).collect(),
            ..Self::default()
        }
    }

    /// The inventory after a scan that [`crate::sift`] has gone through.
    pub fn scanned(mut self, facts: &MachineFacts) -> (Self, Vec<InventoryChange>) {
        let mut changes = Vec::new();
        for new in &facts.gpus {
            let in_slot = |(uuid, known): &(&GpuUuid, &KnownGpu)| {
                known.facts.pci == new.pci
                    && **uuid != new.uuid
                    && !facts.gpus.iter().any(|other| other.uuid == **uuid)
            };
            if let Some(old) = self.gpus.iter().find(in_slot).map(|(uuid, _)| uuid.clone()) {
                self.gpus.remove(&old);
                changes.push(InventoryChange::Replaced {
                    old,
                    new: new.uuid.clone(),
                });
            }
            let known = KnownGpu {
                facts: new.clone(),
                presence: Presence::Present,
            };
            match self
                .gpus
                .insert(new.uuid.clone(), known)
                .map(|before| before.presence)
            {
                None => changes.push(InventoryChange::Added(new.uuid.clone())),
                // The first scan finds what was known before a restart: nothing has happened to it.
                Some(before) if self.scanned && before != Presence::Present => {
                    changes.push(InventoryChange::Returned(new.uuid.clone()));
                }
                Some(_) => {}
            }
        }
        let mut silent: Vec<&SilentGpu> = facts.silent.iter().collect();
        for (uuid, known) in &mut self.gpus {
            if facts.gpus.iter().any(|gpu| gpu.uuid == *uuid) {
                continue;
            }
            // A GPU that fell silent before its UUID was read is recognised by its index.
            let this = |gpu: &&SilentGpu| match &gpu.uuid {
                Some(named) => named == uuid,
                None => gpu.index == known.facts.index,
            };
            let found = silent.iter().position(this).map(|at| silent.remove(at));
            let presence = found.map_or(Presence::Missing, |g| Presence::Silent(g.fault.clone()));
            if std::mem::discriminant(&presence) != std::mem::discriminant(&known.presence) {
                changes.push(match presence {
                    Presence::Missing => InventoryChange::Vanished(uuid.clone()),
                    _ => InventoryChange::FellSilent(uuid.clone()),
                });
            }
            known.presence = presence;
        }
        self.nameless = silent.len();
        self.driver = facts.driver.clone();
        self.topology = Topology::of(facts);
        self.scanned = true;
        (self, changes)
    }

    /// A scan has been seen since the start.
    pub fn is_scanned(&self) -> bool {
        self.scanned
    }

    /// Versions.
    pub fn driver(&self) -> &DriverFacts {
        &self.driver
    }

    /// All known GPUs.
    pub fn gpus(&self) -> &BTreeMap<GpuUuid, KnownGpu> {
        &self.gpus
    }

    /// One GPU.
    pub fn gpu(&self, uuid: &GpuUuid) -> Option<&KnownGpu> {
        self.gpus.get(uuid)
    }

    /// Wiring of the GPUs that are present.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// How many GPUs this machine has or had, those that never told their name included.
    pub fn expected(&self) -> usize {
        self.gpus.len() + self.nameless
    }

    /// GPUs that are present and not in MIG mode, nor about to be: in MIG mode a GPU cannot run CUDA as a whole.
    pub fn whole_gpus(&self) -> BTreeSet<GpuUuid> {
        let whole = |gpu: &&GpuFacts| gpu.mig.as_ref().is_none_or(|m| !m.enabled && !m.pending);
        self.present()
            .filter(whole)
            .map(|gpu| gpu.uuid.clone())
            .collect()
    }

    /// MIG devices by profile, in order of position of their GPU, then of instance ids.
    pub fn partitions(&self) -> BTreeMap<String, Vec<Device>> {
        let mut found: BTreeMap<String, Vec<Device>> = BTreeMap::new();
        let in_order = self
            .topology
            .gpus()
            .iter()
            .filter_map(|uuid| self.gpus.get(uuid));
        for gpu in in_order.map(|known| &known.facts) {
            let mig = gpu.mig.iter().filter(|mig| mig.enabled);
            let mut devices: Vec<_> = mig.flat_map(|mig| &mig.devices).collect();
            devices.sort_by_key(|device| (device.gpu_instance, device.compute_instance));
            for device in devices {
                let list = found.entry(device.profile.clone()).or_default();
                list.push(Device::partition(gpu.uuid.clone(), device.uuid.clone()));
            }
        }
        found
    }

    fn present(&self) -> impl Iterator<Item = &GpuFacts> {
        let present = self
            .gpus
            .values()
            .filter(|known| known.presence == Presence::Present);
        present.map(|known| &known.facts)
    }
}

#[cfg(test)]
mod tests;
