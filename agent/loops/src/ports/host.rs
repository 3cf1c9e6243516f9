//! The host, as the loops need it: directories, volumes, cgroups, logs, files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use agent_core::{ContainerId, ContainerName, Fail, HttpGet, PodUid};
use async_trait::async_trait;

use super::{References, WantedPod};

/// Door to this host. Every call may be repeated without harm.
#[async_trait]
pub trait Host: Send + Sync + std::fmt::Debug + 'static {
    /// Makes directories, cgroup and volumes of a pod. On a pod that is prepared already it brings the
    /// contents of its volumes up to date.
    async fn prepare_pod(
        &self,
        pod: &WantedPod,
        references: &Arc<References>,
    ) -> Result<PreparedPod, Fail>;
    /// Makes what one container instance needs: log directory, hosts file, termination file, sub-paths.
    async fn prepare_container(
        &self,
        instance: ContainerInstance<'_>,
    ) -> Result<PreparedContainer, Fail>;
    /// Unmounts volumes, removes cgroup and directories. Never deletes across a mount.
    async fn clean_pod(&self, uid: &PodUid) -> Result<(), Fail>;
    /// Pods that have left something on this host: directories or cgroups.
    async fn leftovers(&self) -> Result<BTreeSet<PodUid>, Fail>;
    /// Termination message of an ended container instance, limited as the stock kubelet does.
    /// `failed`: the last log lines may stand in for it if the container says so.
    async fn termination_message(
        &self,
        pod: &WantedPod,
        container: &ContainerName,
        attempt: u32,
        failed: bool,
    ) -> Result<String, Fail>;
    /// Links the log of a container instance under the name that log collectors know, where logs are in
    /// their usual place.
    async fn link_log(
        &self,
        pod: &LogOwner,
        container: &ContainerName,
        attempt: u32,
        id: &ContainerId,
    ) -> Result<(), Fail>;
    /// Removes log files: of one instance, or of the whole pod.
    async fn remove_logs(
        &self,
        pod: &LogOwner,
        instance: Option<(&ContainerName, u32)>,
    ) -> Result<(), Fail>;
    /// Rotates the log file of a running container if it is over the limit. True: it was renamed,
    /// so the runtime has to open it anew.
    async fn rotate_log(
        &self,
        pod: &LogOwner,
        container: &ContainerName,
        attempt: u32,
    ) -> Result<bool, Fail>;
}

/// A container instance that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct ContainerInstance<'a> {
    /// The pod.
    pub pod: &'a WantedPod,
    /// What was made ready for the pod.
    pub prepared: &'a PreparedPod,
    /// Which container.
    pub container: &'a ContainerName,
    /// Restart count.
    pub attempt: u32,
    /// Addresses of the pod, primary first.
    pub ips: &'a [String],
    /// What the manifest refers to.
    pub references: &'a Arc<References>,
}

/// Whose logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOwner {
    /// Namespace.
    pub namespace: String,
    /// Pod name.
    pub name: String,
    /// UID.
    pub uid: PodUid,
}

/// What the host made ready for a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreparedPod {
    /// `<podLogsDir>/<namespace>_<name>_<uid>`.
    pub log_directory: PathBuf,
    /// cgroup parent as the runtime wants it, for instance `/kubepods/burstable/pod<uid>`.
    pub cgroup_parent: String,
    /// Host path of each volume by name. Volumes that the runtime provides (image) are missing.
    pub volumes: BTreeMap<String, PathBuf>,
    /// The node's resolver configuration, as read from `resolvConf`.
    pub resolver: ResolverConfig,
    /// Volumes that could not be brought up to date and show their last content: events, not a
    /// reason to hold the pod up.
    pub stale: Vec<Fail>,
    /// IDs of the pod's user namespace, if it has one of its own.
    pub user_namespace: Option<IdRange>,
}

/// IDs of a user namespace: its 0 is `first` on the host, for users and groups alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    /// On the host.
    pub first: u32,
    /// How many.
    pub length: u32,
}

/// Content of a resolv.conf.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolverConfig {
    /// `nameserver` lines.
    pub servers: Vec<String>,
    /// Words of the last `search` line.
    pub searches: Vec<String>,
    /// Words of the last `options` line.
    pub options: Vec<String>,
}

/// What the host made ready for one container instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreparedContainer {
    /// All mounts, volumes with sub-paths resolved, hosts file, termination file.
    pub mounts: Vec<PreparedMount>,
    /// Values that the container's variables have from files of volumes (`fileKeyRef`), by variable.
    /// `None`: the file does not have the key.
    pub file_values: BTreeMap<String, Result<Option<String>, Fail>>,
}

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedMount {
    /// What is mounted.
    pub source: MountSource,
    /// Target in the container.
    pub container_path: String,
    /// Read-only.
    pub read_only: bool,
    /// Recursively read-only.
    pub recursive_read_only: bool,
    /// Propagation.
    pub propagation: Propagation,
}

/// What is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MountSource {
    /// A path of the host, bound.
    Path(PathBuf),
    /// The content of an image, which the runtime mounts.
    Image {
        /// Name of the volume.
        volume: String,
        /// The image as the manifest names it.
        reference: String,
        /// Folder inside the image; empty: all of it.
        sub_path: String,
    },
}

/// Mount propagation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// Private.
    #[default]
    Private,
    /// `HostToContainer`.
    HostToContainer,
    /// `Bidirectional`.
    Bidirectional,
}

/// Asks a pod over the network, for probes and hooks.
#[async_trait]
pub trait Asker: Send + Sync + std::fmt::Debug + 'static {
    /// HTTP GET. Success is 200 to 399; the answer carries the status line and the start of the body.
    async fn http(
        &self,
        get: &HttpGet,
        ip: &str,
        timeout: std::time::Duration,
    ) -> Result<Answer, Fail>;
    /// A TCP connection.
    async fn tcp(
        &self,
        host: &str,
        port: u16,
        timeout: std::time::Duration,
    ) -> Result<Answer, Fail>;
    /// gRPC health check.
    async fn grpc(
        &self,
        ip: &str,
        port: u16,
        service: &str,
        timeout: std::time::Duration,
    ) -> Result<Answer, Fail>;
}

/// What came back. An `Err` of the call means that asking itself failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The check passed.
    pub success: bool,
    /// The other side answered, whatever it said.
    pub answered: bool,
    /// What was seen, for the event.
    pub detail: String,
}
