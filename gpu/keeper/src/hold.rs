//! Deciding what an owner gets.

use std::collections::BTreeSet;

use gpu_cdi::{Document, PlainEdits, qualified_name};
use gpu_model::{
    Ask, Choice, Device, DeviceKind, DriverState, Holding, OccupancyChange, OccupancyEvent, Owner,
    OwnerId, Share, Shortage, Stock, Time, allot, demand,
};

use crate::documents::Documents;
use crate::effects::Save;
use crate::refusal::Refusal;
use crate::state::State;

/// Devices for one ask, in the order of the asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Container.
    pub container: String,
    /// The devices.
    pub devices: Vec<Device>,
    /// Their CDI names.
    pub cdi: Vec<String>,
    /// The same for runtimes without CDI.
    pub plain: PlainEdits,
}

/// What will be held, before it is.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) holding: Holding,
    /// For each ask.
    pub(crate) devices: Vec<Vec<Device>>,
    /// For each ask, why these.
    pub(crate) choices: Vec<Choice>,
    /// The owner gets something that it did not have.
    pub(crate) changed: bool,
}

impl State {
    /// Decides what the owner gets for its asks. What it has, it keeps; the rest is all or nothing.
    pub(crate) fn plan(
        &self,
        owner: &Owner,
        asks: &[Ask],
        documents: &Documents,
        now: Time,
    ) -> Result<Plan, Refusal> {
        let before = self.occupancy.holding(&owner.id);
        let kept: Vec<Vec<Device>> = asks
            .iter()
            .map(|ask| before.map(|h| self.kept(h, ask)).unwrap_or_default())
            .collect();
        let differs = |(ask, kept): (&Ask, &Vec<Device>)| {
            (!kept.is_empty() && kept.len() != ask.count).then(|| {
                let Ask {
                    container, count, ..
                } = ask;
                let message = format!(
                    "container {container} holds {}, but asks for {count}",
                    self.names(kept)
                );
                Refusal::never("DevicesDiffer", message)
            })
        };
        if let Some(refusal) = asks.iter().zip(&kept).find_map(differs) {
            return Err(refusal);
        }
        let changed = asks
            .iter()
            .zip(&kept)
            .any(|(ask, kept)| kept.len() != ask.count);
        let (devices, choices) = if changed {
            self.fits(asks, now)?;
            if let Some(failure) = &documents.failure {
                return Err(Refusal::wait("DriverFilesMissing", failure.clone()));
            }
            let described = documents.names();
            let (gpus, partitions) = self.free(&described);
            let topology = self.inventory.topology().clone();
            let given = allot(
                Stock {
                    topology,
                    gpus,
                    partitions,
                },
                asks,
                &kept,
            )
            .map_err(|shortage| self.short(&shortage, &described))?;
            let choices = given
                .iter()
                .filter_map(|given| given.choice.clone())
                .collect();
            (
                given.into_iter().map(|given| given.devices).collect(),
                choices,
            )
        } else {
            (kept, Vec::new())
        };
        let since = before.map_or(now, |before| before.since);
        let shares = shares(asks, &devices, before);
        let holding = Holding {
            owner: owner.clone(),
            shares,
            since,
        };
        Ok(Plan {
            holding,
            devices,
            choices,
            changed,
        })
    }

    /// Devices of the ask's kind that its container has.
    fn kept(&self, holding: &Holding, ask: &Ask) -> Vec<Device> {
        let own = holding
            .shares
            .iter()
            .filter(|share| share.container == ask.container);
        let devices = own.flat_map(|share| &share.devices);
        devices
            .filter(|device| self.is_of(device, &ask.kind))
            .cloned()
            .collect()
    }

    fn is_of(&self, device: &Device, kind: &DeviceKind) -> bool {
        let DeviceKind::Partition(profile) = kind else {
            return device.partition.is_none();
        };
        let mig = self
            .inventory
            .gpu(&device.gpu)
            .and_then(|known| known.facts.mig.as_ref());
        let devices = mig.into_iter().flat_map(|mig| &mig.devices);
        let mut known = devices.filter(|mig| Some(&mig.uuid) == device.partition.as_ref());
        // One that is gone may have had any profile.
        device.partition.is_some() && known.next().is_none_or(|mig| mig.profile == *profile)
    }

    /// Whether the asks can be met now, or ever.
    fn fits(&self, asks: &[Ask], now: Time) -> Result<(), Refusal> {
        let needed = demand(asks, &DeviceKind::Gpu);
        let expected = self.inventory.expected();
        let known = self.driver == DriverState::Ready && self.inventory.is_scanned();
        if known && needed > expected {
            let message = format!("{needed} GPUs are asked for at once, this node has {expected}");
            return Err(Refusal::never("DevicesInsufficient", message));
        }
        self.closed(now).map_or(Ok(()), Err)
    }

    /// Enters a plan into the book. `Err` if somebody holds a device of it, which a plan of this state cannot bring about.
    pub(crate) fn commit(&mut self, holding: Holding) -> Result<(), Refusal> {
        let devices = holding.devices();
        let kind = DeviceKind::Gpu;
        let shortage = Shortage {
            kind,
            needed: devices.len(),
        };
        let event = OccupancyEvent::Held(holding);
        let (occupancy, changes) = std::mem::take(&mut self.occupancy).apply(event);
        self.occupancy = occupancy;
        if changes
            .iter()
            .any(|change| matches!(change, OccupancyChange::Refused(..)))
        {
            return Err(self.short(&shortage, &BTreeSet::new()));
        }
        self.effects.publish = true;
        self.touch(devices);
        Ok(())
    }

    /// The owner is gone.
    pub(crate) fn release(&mut self, owner: &OwnerId) {
        let pending = self.unresolved.len();
        self.unresolved
            .retain(|observed| observed.owner.id != *owner);
        self.effects.publish |= pending != self.unresolved.len();
        let devices = self
            .occupancy
            .holding(owner)
            .map(Holding::devices)
            .unwrap_or_default();
        let event = OccupancyEvent::Released(owner.clone());
        let (occupancy, changes) = std::mem::take(&mut self.occupancy).apply(event);
        self.occupancy = occupancy;
        if !devices.is_empty() || !changes.is_empty() {
            self.effects.save(Save::Now);
            self.effects.publish = true;
            self.touch(devices);
        }
    }
}

/// One share for each container, and those that the owner has for containers without an ask.
fn shares(asks: &[Ask], devices: &[Vec<Device>], before: Option<&Holding>) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    for (ask, devices) in asks.iter().zip(devices) {
        match shares
            .iter_mut()
            .find(|share| share.container == ask.container)
        {
            Some(share) => share.devices.extend(devices.iter().cloned()),
            None => shares.push(Share {
                container: ask.container.clone(),
                reusable: ask.reusable,
                devices: devices.clone(),
            }),
        }
    }
    let others = before.into_iter().flat_map(|before| &before.shares);
    let others = others.filter(|old| !asks.iter().any(|ask| ask.container == old.container));
    shares.extend(others.cloned().collect::<Vec<_>>());
    shares
}

/// The grants of a plan. `Err` if the CDI document lacks a device: one that was held before and has no node any more.
pub(crate) fn grants(
    asks: &[Ask],
    plan: &Plan,
    document: &Document,
) -> Result<Vec<Grant>, Refusal> {
    let grant = |(ask, devices): (&Ask, &Vec<Device>)| {
        let names: Vec<&str> = devices
            .iter()
            .map(|device| device.uuid().as_str())
            .collect();
        let plain = document.expand(&names).map_err(|unknown| {
            let message = format!(
                "{unknown}: it is held by {} and has no device node now",
                plan.holding.owner.name
            );
            Refusal::wait("DevicesNotDescribed", message)
        })?;
        Ok(Grant {
            container: ask.container.clone(),
            cdi: names.iter().map(|name| qualified_name(name)).collect(),
            devices: devices.clone(),
            plain,
        })
    };
    asks.iter().zip(&plan.devices).map(grant).collect()
}
