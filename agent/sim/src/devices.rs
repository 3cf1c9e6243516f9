//! Devices in memory. Who holds what survives a crash of the agent, as a journal would make it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent_core::{CdiName, DeviceId, PodName, PodUid, ResourceName, Time};
use agent_loops::ports::{
    DeviceAsk, DeviceGrant, DeviceRefusal, Devices, LivingDevices, PlainEdits, ResourceCount,
};
use async_trait::async_trait;
use tokio::sync::watch;

use crate::calls::Verb;
use crate::state::State;
use crate::world::World;

/// The devices as one life of the agent sees them.
#[derive(Debug)]
pub(crate) struct FakeDevices {
    pub(crate) world: World,
    pub(crate) life: u32,
}

#[async_trait]
impl Devices for FakeDevices {
    async fn hold(
        &self,
        uid: &PodUid,
        _name: &PodName,
        asks: &[DeviceAsk],
    ) -> Result<Vec<DeviceGrant>, DeviceRefusal> {
        let effect = |state: &mut State, _| Ok(hold(state, uid, asks));
        match self
            .world
            .call(self.life, Verb::Hold, Some(uid), effect)
            .await
        {
            Ok(answer) => answer,
            Err(fail) => Err(DeviceRefusal::Wait {
                reason: "DevicesUnknown",
                message: fail.message,
            }),
        }
    }

    /// Nothing to take in: the journal of this world is never lost.
    async fn adopt(&self, _living: Vec<LivingDevices>) {}

    async fn release(&self, uid: &PodUid) {
        let effect = |state: &mut State, now: Time| {
            if state.running(uid).next().is_some() {
                let what = format!("{now:?}: devices of {uid} are given back while it runs");
                state.violations.push(what);
            }
            state.held.remove(uid);
            Ok(())
        };
        // It cannot fail in this world, and the port has no failure.
        let _ = self
            .world
            .call(self.life, Verb::Release, Some(uid), effect)
            .await;
        self.world
            .device_changes
            .send_modify(|changes| *changes += 1);
    }

    async fn holders(&self) -> BTreeSet<PodUid> {
        self.world
            .read(|state| state.held.keys().cloned().collect())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.world.device_changes.subscribe()
    }

    /// Nobody reads the node's status in this world.
    fn resources(&self) -> watch::Receiver<Option<Arc<BTreeMap<ResourceName, ResourceCount>>>> {
        watch::channel(None).1
    }
}

/// Main containers get devices of their own; plain init containers use these again.
fn hold(
    state: &mut State,
    uid: &PodUid,
    asks: &[DeviceAsk],
) -> Result<Vec<DeviceGrant>, DeviceRefusal> {
    if let Some(held) = state.held.get(uid) {
        return Ok(held.clone());
    }
    let main: u32 = asks
        .iter()
        .filter(|ask| !ask.init)
        .map(|ask| ask.count)
        .sum();
    let init = asks
        .iter()
        .filter(|ask| ask.init)
        .map(|ask| ask.count)
        .max()
        .unwrap_or(0);
    let needed = main.max(init);
    if needed > state.devices {
        let message = format!("{needed} asked, {} there", state.devices);
        return Err(DeviceRefusal::Never {
            reason: "DevicesInsufficient",
            message,
        });
    }
    let used: BTreeSet<_> = state
        .held
        .values()
        .flatten()
        .flat_map(|grant| grant.devices.iter().cloned())
        .collect();
    let all = (0..state.devices).map(|index| DeviceId::new(format!("gpu-{index}")));
    let free: Vec<_> = all.filter(|id| !used.contains(id)).collect();
    let needed = usize::try_from(needed).unwrap_or(usize::MAX);
    if free.len() < needed {
        let message = format!("{needed} asked, {} free", free.len());
        return Err(DeviceRefusal::Wait {
            reason: "DevicesBusy",
            message,
        });
    }
    let mut own = free.iter();
    let mut grants = Vec::new();
    for ask in asks {
        let count = usize::try_from(ask.count).unwrap_or(usize::MAX);
        let devices: Vec<_> = if ask.init {
            free.iter().take(count).cloned().collect()
        } else {
            own.by_ref().take(count).cloned().collect()
        };
        let cdi = devices
            .iter()
            .map(|id| CdiName::new(format!("{}={id}", ask.resource)))
            .collect();
        let (container, resource) = (ask.container.clone(), ask.resource.clone());
        grants.push(DeviceGrant {
            container,
            resource,
            devices,
            cdi,
            plain: PlainEdits::default(),
        });
    }
    state.held.insert(uid.clone(), grants.clone());
    Ok(grants)
}
