//! Taking in what the runtime shows, after a start.

use gpu_model::{
    Contest, Device, GpuUuid, Holding, OccupancyChange, OccupancyEvent, Owner, Share, Time,
};

use crate::effects::Save;
use crate::notice::Subject;
use crate::state::State;

/// A living container that was given devices, as its runtime shows it. Only containers that got devices by a request
/// belong here, not privileged ones that see every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Whose it is.
    pub owner: Owner,
    /// The container.
    pub container: String,
    /// It is a plain init container, see [`gpu_model::Share`].
    pub reusable: bool,
    /// What it was given.
    pub devices: Vec<Seen>,
}

/// A device in the words of a container's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// UUID of a GPU or MIG device.
    Uuid(GpuUuid),
    /// CDI name; what is before `=` is not looked at.
    Cdi(String),
    /// A device node: minor number N of `/dev/nvidiaN` (major 195). Counts only when nothing else of the
    /// container names a device: a MIG device brings the node of its GPU along.
    Minor(u32),
}

impl State {
    /// Takes in what runs. From the first call on, GPUs can be granted.
    pub(crate) fn adopt(&mut self, observed: Vec<Observed>, now: Time) {
        self.unresolved.extend(observed);
        self.resolve(now);
        self.adopted = true;
        self.effects.publish = true;
        self.effects.save(Save::Now);
    }

    /// Enters everything whose devices are known by now.
    pub(crate) fn resolve(&mut self, now: Time) {
        for observed in std::mem::take(&mut self.unresolved) {
            match self.devices_of(&observed.devices) {
                Some(devices) => self.enter(observed, devices, now),
                None => self.unresolved.push(observed),
            }
        }
    }

    fn enter(&mut self, observed: Observed, devices: Vec<Device>, now: Time) {
        if devices.is_empty() {
            return;
        }
        let Observed {
            owner,
            container,
            reusable,
            ..
        } = observed;
        self.touch(devices.iter().cloned());
        let share = Share {
            container,
            reusable,
            devices,
        };
        let holding = Holding {
            owner,
            shares: vec![share],
            since: now,
        };
        let event = OccupancyEvent::Found(holding);
        let (occupancy, changes) = std::mem::take(&mut self.occupancy).apply(event);
        self.occupancy = occupancy;
        for change in changes {
            self.effects.save(Save::Now);
            self.effects.publish = true;
            match change {
                OccupancyChange::Taken(device, owner) => {
                    let message = format!("{} was found in use", self.name(&device));
                    self.tell(now, false, "DeviceAdopted", Subject::Owner(owner), message);
                }
                OccupancyChange::Contested(device, contest) => {
                    let message = contest_words(&self.name(&device), &contest);
                    let other = Subject::Owner(contest.other);
                    self.tell(now, true, "DeviceContested", other, message);
                }
                OccupancyChange::Freed(_) | OccupancyChange::Refused(..) => {}
            }
        }
    }

    /// `None` while one of them is not known.
    fn devices_of(&self, seen: &[Seen]) -> Option<Vec<Device>> {
        let minor = |seen: &&Seen| matches!(seen, Seen::Minor(_));
        let named: Vec<&Seen> = seen.iter().filter(|seen| !minor(seen)).collect();
        let counted = if named.is_empty() {
            seen.iter().collect()
        } else {
            named
        };
        let mut devices = counted
            .into_iter()
            .map(|seen| self.device(seen))
            .collect::<Option<Vec<_>>>()?;
        devices.sort();
        devices.dedup();
        Some(devices)
    }

    fn device(&self, seen: &Seen) -> Option<Device> {
        let mut gpus = self.inventory.gpus().values().map(|known| &known.facts);
        match seen {
            Seen::Minor(minor) => gpus
                .find(|gpu| gpu.minor == *minor)
                .map(|gpu| Device::whole(gpu.uuid.clone())),
            Seen::Uuid(uuid) => self.named(uuid.as_str()),
            Seen::Cdi(name) => self.named(name.rsplit('=').next().unwrap_or(name)),
        }
    }

    /// The device with this UUID, index or `index:position`.
    fn named(&self, name: &str) -> Option<Device> {
        for gpu in self.inventory.gpus().values().map(|known| &known.facts) {
            if gpu.uuid.as_str() == name || gpu.index.to_string() == name {
                return Some(Device::whole(gpu.uuid.clone()));
            }
            let partitions = gpu.mig.iter().flat_map(|mig| &mig.devices).enumerate();
            for (position, mig) in partitions {
                if mig.uuid.as_str() == name || format!("{}:{position}", gpu.index) == name {
                    return Some(Device::partition(gpu.uuid.clone(), mig.uuid.clone()));
                }
            }
        }
        None
    }
}

/// Two owners of one device, in words.
pub(crate) fn contest_words(device: &str, contest: &Contest) -> String {
    format!(
        "{device} is used by {} and by {}; it is given to nobody else before both are gone; stop one of them",
        contest.holder.name, contest.other.name
    )
}
