//! The container runtime, as the loops need it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{ContainerId, ContainerName, Fail, ImageName, Observation, PodUid, SandboxId};
use async_trait::async_trait;
use futures::stream::BoxStream;

use super::{DeviceGrant, PreparedContainer, PreparedPod, PullCredential, References, WantedPod};

/// Door to the runtime. Every call has a deadline of its own inside the door.
#[async_trait]
pub trait Runtime: Send + Sync + std::fmt::Debug + 'static {
    /// Name, version and abilities.
    async fn facts(&self) -> Result<RuntimeFacts, Fail>;
    /// How the runtime says it is right now, in one cheap call.
    async fn conditions(&self) -> Result<RuntimeConditions, Fail>;
    /// Makes a pod's sandbox and its network.
    async fn run_sandbox(&self, spec: &SandboxSpec) -> Result<SandboxId, Fail>;
    /// Stops a sandbox; repeatable.
    async fn stop_sandbox(&self, id: &SandboxId) -> Result<(), Fail>;
    /// Removes a stopped sandbox with its dead containers; repeatable.
    async fn remove_sandbox(&self, id: &SandboxId) -> Result<(), Fail>;
    /// Makes a container.
    async fn create_container(&self, spec: &ContainerSpec) -> Result<ContainerId, Fail>;
    /// Starts a created container.
    async fn start_container(&self, id: &ContainerId) -> Result<(), Fail>;
    /// Asks a container to end, kills it after `grace`; repeatable.
    async fn stop_container(&self, id: &ContainerId, grace: Duration) -> Result<(), Fail>;
    /// Removes a dead container; repeatable.
    async fn remove_container(&self, id: &ContainerId) -> Result<(), Fail>;
    /// The image if the node has it.
    async fn image(&self, image: &ImageName) -> Result<Option<ImageFacts>, Fail>;
    /// All images on the node.
    async fn images(&self) -> Result<Vec<ListedImage>, Fail>;
    /// Fetches an image. No deadline but the runtime's own.
    async fn pull(
        &self,
        image: &ImageName,
        credential: Option<&PullCredential>,
    ) -> Result<ImageFacts, Fail>;
    /// Runs a command in a container and waits for it.
    async fn exec(
        &self,
        id: &ContainerId,
        command: &[String],
        timeout: Duration,
    ) -> Result<ExecOutput, Fail>;
    /// Tells the runtime to open the log file anew, after a rotation.
    async fn reopen_log(&self, id: &ContainerId) -> Result<(), Fail>;
    /// All pods, cheaply: network details and exit codes may be missing. `whole` is set on each.
    async fn list(&self) -> Result<Vec<Observation>, Fail>;
    /// One pod with every detail; an empty `have` when the runtime does not know it.
    async fn observe(&self, uid: &PodUid) -> Result<Observation, Fail>;
    /// What happens from now on. Ends or yields an error when the stream breaks;
    /// `FailKind::Permanent` when the runtime has no events.
    async fn events(&self) -> Result<BoxStream<'static, Result<RuntimeEvent, Fail>>, Fail>;
}

/// A runtime event. Runtimes that put the state into the event save a call.
#[derive(Clone, Debug)]
pub enum RuntimeEvent {
    /// The state of one pod right after something happened.
    Observed(Box<Observation>),
    /// Something happened to this pod; it has to be looked at.
    Touched(PodUid),
}

/// What the runtime is and can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeFacts {
    /// For instance `containerd`.
    pub name: String,
    /// For instance `2.1.9`.
    pub version: String,
    /// It resolves CDI device names. False when it says nothing about it.
    pub cdi: bool,
    /// cgroup driver it reports; older runtimes do not.
    pub cgroup_driver: Option<String>,
    /// Its handlers (what RuntimeClasses choose from), the default one among them with an empty name.
    pub handlers: Vec<RuntimeHandler>,
    /// It can keep to a pod's `supplementalGroupsPolicy`. `None` when it says nothing about its features.
    pub supplemental_groups_policy: Option<bool>,
}

/// A handler of the runtime and what it can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeHandler {
    /// Name; empty for the default one.
    pub name: String,
    /// Read-only mounts can be made read-only with everything below them.
    pub recursive_read_only_mounts: bool,
    /// Pods can have user namespaces of their own.
    pub user_namespaces: bool,
}

/// The two conditions that every runtime reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeConditions {
    /// `RuntimeReady`: containers can be made. `None` when the runtime does not report it.
    pub runtime: Option<RuntimeCondition>,
    /// `NetworkReady`: pods can get a network. `None` when the runtime does not report it.
    pub network: Option<RuntimeCondition>,
}

/// One condition in the runtime's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeCondition {
    /// All is well.
    pub status: bool,
    /// CamelCase reason, empty when all is well.
    pub reason: String,
    /// In words, empty when all is well.
    pub message: String,
}

/// An image on the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// Reference the runtime wants in CreateContainer.
    pub reference: String,
    /// Numeric user of the image, if it has one.
    pub uid: Option<i64>,
    /// User name of the image when it is not numeric.
    pub username: String,
    /// Bytes on disk; 0 when the runtime does not say.
    pub size: u64,
}

/// An image in a list of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedImage {
    /// Identity in the runtime.
    pub id: String,
    /// Names with tags, and with digests.
    pub names: Vec<String>,
    /// Bytes on disk.
    pub size: u64,
}

/// Result of a command in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecOutput {
    /// Exit code.
    pub code: i32,
    /// Standard output, then standard error, cut at 10 KiB.
    pub output: String,
}

/// What a sandbox is made from.
#[derive(Clone, Debug)]
pub struct SandboxSpec {
    /// The pod.
    pub pod: WantedPod,
    /// Attempt number.
    pub attempt: u32,
    /// What the host made ready.
    pub prepared: Arc<PreparedPod>,
    /// What the manifest refers to.
    pub references: Arc<References>,
}

/// What a container is made from.
#[derive(Clone, Debug)]
pub struct ContainerSpec {
    /// The pod.
    pub pod: WantedPod,
    /// Which container.
    pub container: ContainerName,
    /// Restart count.
    pub attempt: u32,
    /// Sandbox it joins.
    pub sandbox: SandboxId,
    /// The sandbox's attempt number, part of its configuration.
    pub sandbox_attempt: u32,
    /// Addresses of the pod, primary first; the node's for host network.
    pub ips: Vec<String>,
    /// What the host made ready for the pod.
    pub prepared: Arc<PreparedPod>,
    /// What the host made ready for this container.
    pub own: PreparedContainer,
    /// Image to run.
    pub image: ImageFacts,
    /// References of the images that are mounted, by volume, as the runtime wants them.
    pub image_volumes: BTreeMap<String, String>,
    /// Devices granted to this container.
    pub grants: Vec<DeviceGrant>,
    /// What the manifest refers to.
    pub references: Arc<References>,
}
