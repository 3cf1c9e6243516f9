//! The agent's device port, answered by the embedded desk. Words are translated; nothing is decided.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent_core::{CdiName, DeviceId, PodName, PodUid, ResourceName};
use agent_loops::ports::{
    DeviceAsk, DeviceGrant, DeviceRefusal, Devices, LivingDevices, PlainEdits, ResourceCount,
};
use async_trait::async_trait;
use deviceplugin::{Desk, ResourceAsk, ResourceGrant};
use gpu_keeper::{GpuSnapshot, Keeper, Observed, Refusal, Seen};
use gpu_model::{GpuUuid, Owner, OwnerId};
use tokio::sync::watch;

/// GPUs of this node.
#[derive(Debug)]
pub(crate) struct DeskDevices {
    desk: Desk,
    keeper: Keeper,
    resources: watch::Receiver<Option<Arc<Resources>>>,
}

type Resources = BTreeMap<ResourceName, ResourceCount>;

impl DeskDevices {
    pub(crate) fn new(keeper: Keeper) -> Self {
        Self {
            desk: Desk::new(keeper.clone()),
            resources: count(&keeper),
            keeper,
        }
    }
}

/// Counts the devices anew whenever something about the GPUs changed. Before the driver has been looked
/// at, nothing is known: a node that restarts would say for a moment that it has no GPUs.
fn count(keeper: &Keeper) -> watch::Receiver<Option<Arc<Resources>>> {
    let mut snapshots = keeper.snapshots();
    let (sender, counts) = watch::channel(None);
    let counting = async move {
        loop {
            let count = resources(&snapshots.borrow_and_update());
            sender.send_if_modified(|old| {
                let changed = count.is_some() && *old != count;
                if changed {
                    *old = count;
                }
                changed
            });
            if snapshots.changed().await.is_err() {
                return;
            }
        }
    };
    drop(base_daemon::spawn("device counts", counting));
    counts
}

fn resources(snapshot: &GpuSnapshot) -> Option<Arc<Resources>> {
    if !snapshot.looked {
        return None;
    }
    let found = deviceplugin::resources(snapshot);
    let count = |resource: deviceplugin::Resource| {
        let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
        let count = ResourceCount {
            capacity: number(resource.capacity),
            allocatable: number(resource.allocatable),
        };
        (ResourceName::new(resource.name), count)
    };
    Some(Arc::new(found.into_iter().map(count).collect()))
}

#[async_trait]
impl Devices for DeskDevices {
    async fn hold(
        &self,
        uid: &PodUid,
        name: &PodName,
        asks: &[DeviceAsk],
    ) -> Result<Vec<DeviceGrant>, DeviceRefusal> {
        let asked: Vec<ResourceAsk> = asks.iter().map(ask).collect();
        match self.desk.hold(owner(uid, name), &asked).await {
            Ok(grants) => Ok(asks
                .iter()
                .zip(grants)
                .map(|(ask, given)| grant(ask, given))
                .collect()),
            Err(Refusal::Wait { reason, message }) => Err(DeviceRefusal::Wait { reason, message }),
            Err(Refusal::Never { reason, message }) => {
                Err(DeviceRefusal::Never { reason, message })
            }
        }
    }

    async fn adopt(&self, living: Vec<LivingDevices>) {
        self.keeper
            .adopt(living.iter().map(observed).collect())
            .await;
    }

    async fn release(&self, uid: &PodUid) {
        self.desk.release(OwnerId(uid.to_string())).await;
    }

    async fn holders(&self) -> BTreeSet<PodUid> {
        self.desk
            .holders()
            .iter()
            .map(|id| PodUid::new(&id.0))
            .collect()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.desk.changes()
    }

    fn resources(&self) -> watch::Receiver<Option<Arc<Resources>>> {
        self.resources.clone()
    }
}

fn owner(uid: &PodUid, name: &PodName) -> Owner {
    Owner {
        id: OwnerId(uid.to_string()),
        name: name.to_string(),
    }
}

/// Name of the pod behind an owner: the way back from [`owner`].
pub(crate) fn pod_name(owner: &Owner) -> PodName {
    let (namespace, name) = owner.name.split_once('/').unwrap_or(("", &owner.name));
    PodName::new(namespace, name)
}

fn ask(ask: &DeviceAsk) -> ResourceAsk {
    ResourceAsk {
        container: ask.container.to_string(),
        init: ask.init,
        resource: ask.resource.to_string(),
        count: ask.count,
    }
}

/// A container that lives is taken for a main one: an init container that ends gives its devices to
/// nobody else until its pod is gone, which is safe.
fn observed(living: &LivingDevices) -> Observed {
    let device = |device: &DeviceId| Seen::Uuid(GpuUuid::new(device.as_str()));
    Observed {
        owner: owner(&living.uid, &living.name),
        container: living.container.to_string(),
        reusable: false,
        devices: living.devices.iter().map(device).collect(),
    }
}

fn grant(ask: &DeviceAsk, given: ResourceGrant) -> DeviceGrant {
    let plain = given.plain;
    DeviceGrant {
        container: ask.container.clone(),
        resource: ask.resource.clone(),
        devices: given.devices.iter().map(DeviceId::new).collect(),
        cdi: given.cdi.iter().map(CdiName::new).collect(),
        plain: PlainEdits {
            env: plain.env,
            mounts: plain
                .mounts
                .into_iter()
                .map(|each| (each.host, each.container))
                .collect(),
            nodes: plain
                .nodes
                .into_iter()
                .map(|node| (node.host, node.container, node.permissions))
                .collect(),
        },
    }
}
