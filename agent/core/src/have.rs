//! What the runtime shows of one pod.

use std::time::Duration;

use crate::ids::{ContainerId, ContainerName, DeviceId, PodName, PodUid, SandboxId};
use crate::time::Time;
use crate::want::Hook;

/// One look at one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Whose it is, from the sandbox's labels.
    pub uid: PodUid,
    /// Its name, from the same labels: for a pod without a manifest this is all that is known.
    pub name: PodName,
    /// When the look began, or the event was received, by this agent's clock: things made later than
    /// this may be missing from it.
    pub at: Time,
    /// What was there.
    pub have: PodHave,
    /// True when `have` lists everything the runtime knows of the pod, so that absence means gone.
    /// Runtime events about one container may show less.
    pub whole: bool,
}

/// Sandboxes and containers of one pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodHave {
    /// Newest attempt first.
    pub sandboxes: Vec<SandboxHave>,
    /// In no particular order; several attempts of one name may be present.
    pub containers: Vec<ContainerHave>,
}

/// One sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxHave {
    /// Runtime identity.
    pub id: SandboxId,
    /// Attempt number from the metadata.
    pub attempt: u32,
    /// Whether its pause process and network are up.
    pub ready: bool,
    /// Creation time by the runtime, whose clock may differ from the agent's.
    pub created_at: Time,
    /// Network details; a listing does not have them.
    pub network: Option<SandboxNetwork>,
}

/// Network of a sandbox as its status shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxNetwork {
    /// It shares the host's network namespace.
    pub host: bool,
    /// Addresses, primary first. Empty for host network.
    pub ips: Vec<String>,
}

/// State of a container. It only ever moves down this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunState {
    /// Created, not started.
    Created,
    /// Running.
    Running,
    /// The runtime lost track of it: it may still run, so it is stopped before anything replaces it.
    Unknown,
    /// Ended, or never started and stopped.
    Exited,
}

impl RunState {
    /// Processes of it may exist.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Running | Self::Unknown)
    }
}

/// One container instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerHave {
    /// Runtime identity.
    pub id: ContainerId,
    /// Name inside the pod.
    pub name: ContainerName,
    /// Sandbox it lives in; a status without it leaves `None`.
    pub sandbox: Option<SandboxId>,
    /// Attempt number, which is the restart count of the stock annotations.
    pub attempt: u32,
    /// Stock container hash annotation; empty when absent.
    pub hash: String,
    /// State.
    pub state: RunState,
    /// Creation time by the runtime.
    pub created_at: Time,
    /// Start time, once known.
    pub started_at: Option<Time>,
    /// How it ended, once known. A listing shows only that it ended.
    pub exit: Option<Exit>,
    /// Image reference with digest, as the runtime resolved it.
    pub image_id: String,
    /// Who its first process runs as, where the runtime says.
    pub user: Option<ContainerUser>,
    /// What its annotations say, for containers whose manifest or journal is gone.
    pub recovered: Recovered,
}

/// IDs of a container's first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerUser {
    /// User.
    pub uid: i64,
    /// Primary group.
    pub gid: i64,
    /// All supplementary groups, those of the image too.
    pub supplemental_groups: Vec<i64>,
}

/// What the annotations say about a container that nothing else is known of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// `io.kubernetes.pod.terminationGracePeriod`.
    pub grace: Option<Duration>,
    /// `io.kubernetes.container.preStopHandler`.
    pub pre_stop: Option<Hook>,
    /// Devices it was given, from gpulet's own annotation: what the owner of the devices goes by when
    /// its journal is lost.
    pub devices: Vec<DeviceId>,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Exit code; 137 when killed.
    pub code: i32,
    /// Runtime's reason: `Completed`, `Error`, `OOMKilled`.
    pub reason: String,
    /// Runtime's message, often empty.
    pub message: String,
    /// When.
    pub finished_at: Time,
}
