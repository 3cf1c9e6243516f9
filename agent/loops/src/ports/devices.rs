//! Devices, as the agent knows them: by resource name, identity and how to give them to a container.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent_core::{CdiName, ContainerName, DeviceId, PodName, PodUid, ResourceName};
use async_trait::async_trait;
use tokio::sync::watch;

/// Owner of devices: the embedded desk, or a socket adapter for third-party plugins.
#[async_trait]
pub trait Devices: Send + Sync + std::fmt::Debug + 'static {
    /// Holds devices for all containers of a pod, all or nothing, durable before it answers.
    /// The same pod asking again gets the same devices.
    async fn hold(
        &self,
        uid: &PodUid,
        name: &PodName,
        asks: &[DeviceAsk],
    ) -> Result<Vec<DeviceGrant>, DeviceRefusal>;
    /// Takes in what lives in the runtime, once after a start and before anything is held: what runs
    /// outranks a journal that was lost.
    async fn adopt(&self, living: Vec<LivingDevices>);
    /// Gives back everything the pod holds; repeatable.
    async fn release(&self, uid: &PodUid);
    /// Pods that hold something.
    async fn holders(&self) -> BTreeSet<PodUid>;
    /// Changes whenever a refusal might turn into a grant.
    fn changes(&self) -> watch::Receiver<u64>;
    /// How many devices of each resource the node has; `None` until that is known, so that a restart
    /// never shows a node without its devices.
    fn resources(&self) -> watch::Receiver<Option<Arc<BTreeMap<ResourceName, ResourceCount>>>>;
}

/// Devices of one resource, for the node's status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceCount {
    /// There are.
    pub capacity: u64,
    /// Usable by pods, held ones among them.
    pub allocatable: u64,
}

/// A living container that was given devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivingDevices {
    /// The pod.
    pub uid: PodUid,
    /// Its name.
    pub name: PodName,
    /// The container.
    pub container: ContainerName,
    /// Its devices.
    pub devices: Vec<DeviceId>,
}

/// What one container asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceAsk {
    /// Container.
    pub container: ContainerName,
    /// It is a plain init container: its devices are used again by later containers.
    pub init: bool,
    /// Resource.
    pub resource: ResourceName,
    /// How many.
    pub count: u32,
}

/// What one container gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceGrant {
    /// Container.
    pub container: ContainerName,
    /// Resource.
    pub resource: ResourceName,
    /// Devices.
    pub devices: Vec<DeviceId>,
    /// CDI names, for runtimes that resolve them.
    pub cdi: Vec<CdiName>,
    /// The same in plain CRI terms, for runtimes without CDI.
    pub plain: PlainEdits,
}

/// Container edits in CRI terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainEdits {
    /// Environment.
    pub env: Vec<(String, String)>,
    /// Bind mounts: host path, container path; read-only.
    pub mounts: Vec<(String, String)>,
    /// Device nodes: host path, container path, permissions.
    pub nodes: Vec<(String, String, String)>,
}

/// Why there is no grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceRefusal {
    /// Not now; ask again when `changes` moves.
    Wait {
        /// CamelCase reason, for instance `DevicesBusy`.
        reason: &'static str,
        /// In words, naming who holds them.
        message: String,
    },
    /// Never on this node, as it is built.
    Never {
        /// CamelCase reason, for instance `DevicesInsufficient`.
        reason: &'static str,
        /// In words.
        message: String,
    },
}
