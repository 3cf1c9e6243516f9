//! The books together, and what can be read out of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gpu_model::{
    Device, DriverState, GpuUuid, HealthBook, HealthState, Inventory, Occupancy, Reading, Rejected,
    Target, Time,
};

use crate::adopt::Observed;
use crate::effects::Effects;
use crate::journal::Recalled;

/// After a scan grants wait this long for the first reading of each GPU, so that the first pods choose among
/// all of them and not among those that happened to be quick. Longer than the probe's deadline for one
/// call (5 s), so that a GPU that hangs is known to by then.
pub(crate) const FIRST_READING: Duration = Duration::from_secs(8);

/// All books. Changed by `hear`, `adopt`, `commit` and `release`, each of which leaves its work in `effects`.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) driver: DriverState,
    /// The driver was seen unloaded since it last worked: when it works again, all GPUs were reset.
    pub(crate) unloaded: bool,
    pub(crate) inventory: Inventory,
    pub(crate) health: HealthBook,
    pub(crate) occupancy: Occupancy,
    /// What the runtime shows has been taken in.
    pub(crate) adopted: bool,
    /// Shown by the runtime with devices that are not known, or not yet.
    pub(crate) unresolved: Vec<Observed>,
    pub(crate) rejected: Vec<Rejected>,
    /// Present GPUs that have not been read since the start, and when each was found.
    pub(crate) unread: BTreeMap<GpuUuid, Time>,
    pub(crate) readings: BTreeMap<GpuUuid, (Time, Arc<Reading>)>,
    /// When a repeated fault or harmless XID of a device was told last.
    pub(crate) told: BTreeMap<(Target, u32), Time>,
    pub(crate) effects: Effects,
}

/// Why a device that is there cannot be given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// Not read since the start, so nothing is known about its health.
    NotRead,
    /// Its health forbids it.
    Health(HealthState),
    /// The CDI document does not have it.
    NotDescribed,
}

impl State {
    pub(crate) fn recalled(recalled: Recalled) -> Self {
        Self {
            driver: DriverState::Unknown,
            unloaded: false,
            inventory: recalled.inventory,
            health: recalled.health,
            occupancy: recalled.occupancy,
            adopted: false,
            unresolved: Vec::new(),
            rejected: Vec::new(),
            unread: BTreeMap::new(),
            readings: BTreeMap::new(),
            told: BTreeMap::new(),
            effects: Effects::default(),
        }
    }

    /// Whether grants can be made at all. A library that stopped answering costs freshness only: what it
    /// said before it stopped still holds, GPU by GPU.
    pub(crate) fn has_driver(&self) -> bool {
        match self.driver {
            DriverState::Ready => true,
            DriverState::Unresponsive { .. } => self.inventory.is_scanned(),
            _ => false,
        }
    }

    /// Until when grants wait for first readings; `None` if they do not.
    pub(crate) fn first_readings(&self, now: Time) -> Option<Time> {
        let quiet = |gpu: &GpuUuid| self.health.state(gpu) == HealthState::Unmonitored;
        let waiting = self.unread.iter().filter(|(gpu, _)| quiet(gpu));
        waiting
            .map(|(_, found)| found.plus(FIRST_READING))
            .filter(|end| *end > now)
            .max()
    }

    /// Devices that may be given out now. `described`: names that the CDI document has.
    pub(crate) fn free(
        &self,
        described: &BTreeSet<String>,
    ) -> (BTreeSet<GpuUuid>, BTreeMap<String, Vec<Device>>) {
        let free = |device: &Device| {
            self.occupancy.holder(device).is_none() && self.unusable(device, described).is_none()
        };
        let mut gpus = self.inventory.whole_gpus();
        gpus.retain(|gpu| free(&Device::whole(gpu.clone())));
        let mut partitions = self.inventory.partitions();
        partitions
            .values_mut()
            .for_each(|devices| devices.retain(free));
        (gpus, partitions)
    }

    /// Why this device, which is present, is not given out although nobody holds it.
    pub(crate) fn unusable(
        &self,
        device: &Device,
        described: &BTreeSet<String>,
    ) -> Option<Unusable> {
        let health = self.device_health(device);
        if health > HealthState::Degraded {
            Some(Unusable::Health(health))
        } else if !self.health.was_read(&device.gpu) {
            Some(Unusable::NotRead)
        } else if !described.contains(device.uuid().as_str()) {
            Some(Unusable::NotDescribed)
        } else {
            None
        }
    }

    /// Health of a GPU, or of a MIG device with that of its GPU.
    fn device_health(&self, device: &Device) -> HealthState {
        let instance = device.partition.as_ref().and_then(|partition| {
            let mig = self.inventory.gpu(&device.gpu)?.facts.mig.as_ref()?;
            mig.devices.iter().find(|mig| mig.uuid == *partition)
        });
        match instance {
            Some(mig) => {
                let (gpu, compute) = (mig.gpu_instance, mig.compute_instance);
                self.health.partition_state(&device.gpu, gpu, compute)
            }
            None => self.health.state(&device.gpu),
        }
    }

    /// `GPU 3` or `MIG device MIG-… of GPU 3`; the UUID for one that is not known.
    pub(crate) fn name(&self, device: &Device) -> String {
        let gpu = match self.inventory.gpu(&device.gpu) {
            Some(known) => format!("GPU {}", known.facts.index),
            None => device.gpu.to_string(),
        };
        match &device.partition {
            Some(partition) => format!("MIG device {partition} of {gpu}"),
            None => gpu,
        }
    }

    /// The names of devices, by index of their GPUs.
    pub(crate) fn names<'a>(&self, devices: impl IntoIterator<Item = &'a Device>) -> String {
        let index = |device: &Device| self.inventory.gpu(&device.gpu).map(|gpu| gpu.facts.index);
        let mut devices: Vec<&Device> = devices.into_iter().collect();
        devices.sort_by_key(|device| (index(device), (*device).clone()));
        devices
            .into_iter()
            .map(|device| self.name(device))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Everything in the snapshot about these devices has to be rendered anew.
    pub(crate) fn touch(&mut self, devices: impl IntoIterator<Item = Device>) {
        self.effects
            .touched
            .extend(devices.into_iter().map(|device| device.gpu));
    }
}
