//! Who holds what. One device has one holder, whatever anybody else believes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::time::Time;

/// All holdings, in the order in which they came.
///
/// The holder of a device is the first holding that lists it or something that overlaps it. Only what
/// is found running ([`OccupancyEvent::Found`]) can list a device that already has a holder: both are
/// remembered, and the device is free only when neither lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Occupancy {
    holdings: Vec<Holding>,
}

/// Identity of an owner: a pod's UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OwnerId(pub String);

/// Who holds devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Identity.
    pub id: OwnerId,
    /// Name for people, for instance `default/train`.
    pub name: String,
}

/// What one owner holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// The owner.
    pub owner: Owner,
    /// Its containers.
    pub shares: Vec<Share>,
    /// Since when.
    pub since: Time,
}

/// What one container of an owner holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Container.
    pub container: String,
    /// It ends before later containers start: its devices may be listed by these too.
    pub reusable: bool,
    /// Devices.
    pub devices: Vec<Device>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OccupancyEvent {
    /// An owner shall hold this, in place of what it holds. Refused as a whole if a device of it is taken.
    Held(Holding),
    /// This is running, whatever the book says. Shares of containers that are known already stay as
    /// they are.
    Found(Holding),
    /// The owner is gone with all its containers.
    Released(OwnerId),
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OccupancyChange {
    /// The owner holds this device now.
    Taken(Device, Owner),
    /// Nobody holds it any more.
    Freed(Device),
    /// Nothing was changed, because this device has a holder.
    Refused(Device, Owner),
    /// A second owner was found using this device; the first one stays its holder.
    Contested(Device, Contest),
}

/// Two owners of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// Who holds it.
    pub holder: Owner,
    /// Who uses it too.
    pub other: Owner,
}

impl Occupancy {
    /// The book after `event`, and what changed.
    pub fn apply(self, event: OccupancyEvent) -> (Self, Vec<OccupancyChange>) {
        match event {
            OccupancyEvent::Held(holding) => self.held(holding),
            OccupancyEvent::Found(holding) => self.found(holding),
            OccupancyEvent::Released(owner) => self.released(&owner),
        }
    }

    /// All holdings, first come first.
    pub fn holdings(&self) -> &[Holding] {
        &self.holdings
    }

    /// What this owner holds.
    pub fn holding(&self, owner: &OwnerId) -> Option<&Holding> {
        self.holdings
            .iter()
            .find(|holding| holding.owner.id == *owner)
    }

    /// Who keeps this device from others: itself, the GPU it lies in, or a part of it.
    pub fn holder(&self, device: &Device) -> Option<&Holding> {
        self.holdings.iter().find(|holding| holding.lists(device))
    }

    /// Devices that two owners use, which only what was found running can bring about.
    pub fn contests(&self) -> Vec<(Device, Contest)> {
        let mut contests = Vec::new();
        for (at, holding) in self.holdings.iter().enumerate() {
            for device in holding.devices() {
                let before = self
                    .holdings
                    .iter()
                    .take(at)
                    .find(|other| other.lists(&device));
                contests.extend(before.map(|holder| {
                    let owner = |holding: &Holding| holding.owner.clone();
                    (
                        device,
                        Contest {
                            holder: owner(holder),
                            other: owner(holding),
                        },
                    )
                }));
            }
        }
        contests
    }

    fn held(mut self, holding: Holding) -> (Self, Vec<OccupancyChange>) {
        let refused = holding
            .doubled()
            .map(|device| (device, &holding.owner))
            .or_else(|| {
                let others = || {
                    self.holdings
                        .iter()
                        .filter(|other| other.owner.id != holding.owner.id)
                };
                holding.devices().into_iter().find_map(|device| {
                    others()
                        .find(|other| other.lists(&device))
                        .map(|other| (device, &other.owner))
                })
            });
        if let Some((device, owner)) = refused {
            let change = OccupancyChange::Refused(device, owner.clone());
            return (self, vec![change]);
        }
        let place = self
            .holdings
            .iter_mut()
            .find(|other| other.owner.id == holding.owner.id);
        let before = match place {
            Some(place) => std::mem::replace(place, holding.clone()).devices(),
            None => {
                self.holdings.push(holding.clone());
                BTreeSet::new()
            }
        };
        let after = holding.devices();
        let taken = after.difference(&before).cloned();
        let taken = taken.map(|device| OccupancyChange::Taken(device, holding.owner.clone()));
        let freed = before
            .difference(&after)
            .cloned()
            .map(OccupancyChange::Freed);
        let changes = taken.chain(freed).collect();
        (self, changes)
    }

    fn found(mut self, found: Holding) -> (Self, Vec<OccupancyChange>) {
        let mut changes = Vec::new();
        let known = self.holding(&found.owner.id);
        let new_share = |share: &&Share| {
            !known.is_some_and(|known| known.shares.iter().any(|k| k.container == share.container))
        };
        let shares: Vec<Share> = found.shares.iter().filter(new_share).cloned().collect();
        let had = known.map(Holding::devices).unwrap_or_default();
        let news: BTreeSet<Device> = shares
            .iter()
            .flat_map(|s| s.devices.iter().cloned())
            .collect();
        for device in news.difference(&had) {
            let others = self
                .holdings
                .iter()
                .filter(|other| other.owner.id != found.owner.id);
            changes.push(match others.into_iter().find(|other| other.lists(device)) {
                Some(holder) => {
                    let holder = holder.owner.clone();
                    let contest = Contest {
                        holder,
                        other: found.owner.clone(),
                    };
                    OccupancyChange::Contested(device.clone(), contest)
                }
                None => OccupancyChange::Taken(device.clone(), found.owner.clone()),
            });
        }
        match self
            .holdings
            .iter_mut()
            .find(|other| other.owner.id == found.owner.id)
        {
            Some(known) => known.shares.extend(shares),
            None => self.holdings.push(Holding { shares, ..found }),
        }
        (self, changes)
    }

    fn released(mut self, owner: &OwnerId) -> (Self, Vec<OccupancyChange>) {
        let Some(at) = self
            .holdings
            .iter()
            .position(|holding| holding.owner.id == *owner)
        else {
            return (self, Vec::new());
        };
        let gone = self.holdings.remove(at);
        let freed = gone
            .devices()
            .into_iter()
            .filter(|device| self.holder(device).is_none());
        let changes = freed.map(OccupancyChange::Freed).collect();
        (self, changes)
    }
}

impl Holding {
    /// All devices of all containers, each once.
    pub fn devices(&self) -> BTreeSet<Device> {
        self.shares
            .iter()
            .flat_map(|share| share.devices.iter().cloned())
            .collect()
    }

    /// Whether it has this device or one that overlaps it.
    fn lists(&self, device: &Device) -> bool {
        self.shares
            .iter()
            .flat_map(|share| &share.devices)
            .any(|own| own.overlaps(device))
    }

    /// A device that two containers would use at the same time.
    fn doubled(&self) -> Option<Device> {
        let mut seen: Vec<&Device> = Vec::new();
        for share in self.shares.iter().filter(|share| !share.reusable) {
            for device in &share.devices {
                if seen.iter().any(|other| other.overlaps(device)) {
                    return Some(device.clone());
                }
                seen.push(device);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
