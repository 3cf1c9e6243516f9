//! The desk.

use std::collections::BTreeSet;

use gpu_cdi::PlainEdits;
use gpu_keeper::{Keeper, Refusal};
use gpu_model::{Ask, Owner, OwnerId};
use tokio::sync::watch;

use crate::resource::kind;

/// Front desk for extended resources.
#[derive(Clone, Debug)]
pub struct Desk {
    keeper: Keeper,
}

/// What one container asks for, in the order in which containers start: init containers first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceAsk {
    /// Container.
    pub container: String,
    /// It is a plain init container: its devices are used again by later containers. Not a sidecar.
    pub init: bool,
    /// Resource name.
    pub resource: String,
    /// How many.
    pub count: u32,
}

/// What one container gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceGrant {
    /// Container.
    pub container: String,
    /// Resource name.
    pub resource: String,
    /// UUIDs of the devices.
    pub devices: Vec<String>,
    /// CDI names, for runtimes that resolve them. They bring `NVIDIA_VISIBLE_DEVICES=void` along, which keeps
    /// any other NVIDIA runtime from adding devices.
    pub cdi: Vec<String>,
    /// The same for runtimes without CDI.
    pub plain: PlainEdits,
}

impl Desk {
    /// A desk in front of this keeper.
    pub fn new(keeper: Keeper) -> Self {
        Self { keeper }
    }

    /// Holds devices for all containers of a pod, all or nothing; grants come in the order of the asks and are on disk
    /// when this returns. The same pod asking again gets the same devices.
    pub async fn hold(
        &self,
        pod: Owner,
        asks: &[ResourceAsk],
    ) -> Result<Vec<ResourceGrant>, Refusal> {
        let asked = asks
            .iter()
            .map(|ask| self.translate(ask))
            .collect::<Result<Vec<_>, _>>()?;
        let grants = self.keeper.hold(pod, asked).await?;
        let grant = |(ask, grant): (&ResourceAsk, gpu_keeper::Grant)| ResourceGrant {
            container: grant.container,
            resource: ask.resource.clone(),
            devices: grant
                .devices
                .iter()
                .map(|device| device.uuid().to_string())
                .collect(),
            cdi: grant.cdi,
            plain: grant.plain,
        };
        Ok(asks.iter().zip(grants).map(grant).collect())
    }

    /// Gives back everything a pod holds. Only when its containers are really gone. Repeatable.
    pub async fn release(&self, pod: OwnerId) {
        self.keeper.release(pod).await;
    }

    /// Pods that hold something.
    pub fn holders(&self) -> BTreeSet<OwnerId> {
        let snapshots = self.keeper.snapshots();
        let snapshot = snapshots.borrow();
        snapshot
            .owners
            .iter()
            .map(|owner| owner.id.clone())
            .collect()
    }

    /// Moves whenever a refusal might turn into a grant.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.keeper.changes()
    }

    fn translate(&self, ask: &ResourceAsk) -> Result<Ask, Refusal> {
        let snapshots = self.keeper.snapshots();
        let kind = kind(&ask.resource, &snapshots.borrow()).ok_or_else(|| Refusal::Never {
            reason: "ResourceUnknown",
            message: format!(
                "container {} asks for {}, which nothing on this node offers",
                ask.container, ask.resource
            ),
        })?;
        let count = usize::try_from(ask.count).unwrap_or(usize::MAX);
        Ok(Ask {
            container: ask.container.clone(),
            reusable: ask.init,
            kind,
            count,
        })
    }
}

#[cfg(test)]
mod tests;
