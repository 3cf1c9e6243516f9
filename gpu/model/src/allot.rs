//! Sharing out devices to the containers of one pod, all or nothing.
//!
//! A plain init container has ended before any later container starts, so its devices are used
//! again by later ones, as the kubelet's device manager does it. A sidecar keeps its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::device::{Device, DeviceKind};
use crate::ids::GpuUuid;
use crate::select::{Choice, select};
use crate::topology::Topology;

/// What one container asks for. Asks come in the order in which containers start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Container.
    pub container: String,
    /// It ends before later containers start, so its devices are used again.
    pub reusable: bool,
    /// Kind of device.
    pub kind: DeviceKind,
    /// How many.
    pub count: usize,
}

/// Devices that may be given out.
#[derive(Clone, Debug, Default)]
pub struct Stock {
    /// Wiring, for the choice of GPUs.
    pub topology: Topology,
    /// Free whole GPUs.
    pub gpus: BTreeSet<GpuUuid>,
    /// Free MIG devices by profile, in the order in which they are given.
    pub partitions: BTreeMap<String, Vec<Device>>,
}

/// Not enough devices of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Of which kind.
    pub kind: DeviceKind,
    /// Devices that the whole pod needs at once.
    pub needed: usize,
}

/// Devices for one ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allotment {
    /// The devices.
    pub devices: Vec<Device>,
    /// Why these GPUs, where there was a choice.
    pub choice: Option<Choice>,
}

/// Devices of a kind that all asks together need at once.
pub fn demand(asks: &[Ask], kind: &DeviceKind) -> usize {
    let asks = || asks.iter().filter(|ask| ask.kind == *kind);
    let lasting = |asks: &mut dyn Iterator<Item = &Ask>| -> usize {
        asks.filter(|ask| !ask.reusable).map(|ask| ask.count).sum()
    };
    let passing = asks().enumerate().filter(|(_, ask)| ask.reusable);
    let peaks = passing.map(|(at, ask)| ask.count + lasting(&mut asks().take(at)));
    peaks.fold(lasting(&mut asks()), usize::max)
}

/// Chooses devices for each ask. `kept` has, for each ask, the devices it has from before, empty for
/// a new one; these stay as they are and must not be in the stock.
///
/// Asks that last choose first, larger ones before smaller ones. Reusable ones then choose among what later
/// asks hold, and take more from the stock only when that is not enough.
pub fn allot(
    mut stock: Stock,
    asks: &[Ask],
    kept: &[Vec<Device>],
) -> Result<Vec<Allotment>, Shortage> {
    let devices = |at: usize| kept.get(at).cloned().unwrap_or_default();
    let mut given: Vec<Allotment> = (0..asks.len())
        .map(|at| Allotment {
            devices: devices(at),
            choice: None,
        })
        .collect();
    let mut order: Vec<usize> = (0..asks.len())
        .filter(|at| devices(*at).is_empty())
        .collect();
    order.sort_by_key(|at| {
        asks.get(*at)
            .map(|ask| (ask.reusable, usize::MAX - ask.count))
    });
    for at in order {
        let Some(ask) = asks.get(at) else { continue };
        let shortage = || Shortage {
            kind: ask.kind.clone(),
            needed: demand(asks, &ask.kind),
        };
        let pool = shared(asks, &given, at);
        let allotment = if ask.count <= pool.len() {
            stock
                .only(&ask.kind, &pool)
                .pick(&ask.kind, &BTreeSet::new(), ask.count)
        } else {
            stock.pick(&ask.kind, &pool, ask.count)
        };
        let allotment = allotment.ok_or_else(shortage)?;
        stock.remove(&allotment.devices);
        if let Some(slot) = given.get_mut(at) {
            *slot = allotment;
        }
    }
    Ok(given)
}

/// Devices of the pod that this ask may use too: for a reusable one those of every ask but the
/// lasting ones before it, for a lasting one those of reusable asks before it that no lasting one has.
fn shared(asks: &[Ask], given: &[Allotment], at: usize) -> BTreeSet<Device> {
    let Some(own) = asks.get(at) else {
        return BTreeSet::new();
    };
    let of = |wanted: &dyn Fn(usize, &Ask) -> bool| -> BTreeSet<Device> {
        let all = asks.iter().zip(given).enumerate();
        let wanted = all.filter(|(i, (ask, _))| ask.kind == own.kind && wanted(*i, ask));
        wanted
            .flat_map(|(_, (_, given))| given.devices.iter().cloned())
            .collect()
    };
    let (usable, blocked) = if own.reusable {
        (of(&|_, _| true), of(&|i, ask| i < at && !ask.reusable))
    } else {
        (
            of(&|i, ask| i < at && ask.reusable),
            of(&|_, ask| !ask.reusable),
        )
    };
    usable.difference(&blocked).cloned().collect()
}

impl Stock {
    /// A stock of these devices alone, all of one kind.
    fn only(&self, kind: &DeviceKind, devices: &BTreeSet<Device>) -> Self {
        let mut stock = Self {
            topology: self.topology.clone(),
            ..Self::default()
        };
        match kind {
            DeviceKind::Gpu => {
                stock.gpus = devices.iter().map(|device| device.gpu.clone()).collect();
            }
            DeviceKind::Partition(profile) => {
                stock
                    .partitions
                    .insert(profile.clone(), devices.iter().cloned().collect());
            }
        }
        stock
    }

    fn pick(
        &self,
        kind: &DeviceKind,
        required: &BTreeSet<Device>,
        count: usize,
    ) -> Option<Allotment> {
        match kind {
            DeviceKind::Gpu => {
                let required = required.iter().map(|device| device.gpu.clone()).collect();
                let choice = select(&self.topology, &self.gpus, &required, count)?;
                let devices = choice.gpus.iter().cloned().map(Device::whole).collect();
                Some(Allotment {
                    devices,
                    choice: Some(choice),
                })
            }
            DeviceKind::Partition(profile) => {
                let free = self.partitions.get(profile).into_iter().flatten();
                let free = free.filter(|device| !required.contains(*device));
                let devices: Vec<_> = required.iter().chain(free).take(count).cloned().collect();
                (devices.len() == count).then_some(Allotment {
                    devices,
                    choice: None,
                })
            }
        }
    }

    fn remove(&mut self, devices: &[Device]) {
        for device in devices {
            self.gpus.remove(&device.gpu);
            for list in self.partitions.values_mut() {
                list.retain(|other| !other.overlaps(device));
            }
        }
    }
}

#[cfg(test)]
mod tests;
