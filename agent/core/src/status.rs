//! A pod's status as Kubernetes shows it, rendered from the view.

use crate::have::ContainerUser;
use crate::ids::{ContainerId, ContainerName};
use crate::time::Time;

/// Status of one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodStatus {
    /// Phase.
    pub phase: Phase,
    /// CamelCase reason for a pod that waits or failed, empty otherwise.
    pub reason: String,
    /// The same in words.
    pub message: String,
    /// All containers are ready and every init container is done.
    pub ready: bool,
    /// Init containers are done.
    pub initialized: bool,
    /// Addresses, primary first.
    pub ips: Vec<String>,
    /// When the agent first saw the pod.
    pub started_at: Time,
    /// Init containers, in manifest order.
    pub init: Vec<ContainerStatus>,
    /// Main containers, in manifest order.
    pub containers: Vec<ContainerStatus>,
    /// Ephemeral containers, in manifest order.
    pub ephemeral: Vec<ContainerStatus>,
    /// Its sandbox is up and has its network.
    pub sandbox_ready: bool,
    /// All containers are being restarted because one of them ended in a way that asks for it.
    pub restarting_all: bool,
    /// Somebody asked the pod to stop or it is over: it is not ready whatever its containers are.
    pub ending: bool,
}

impl PodStatus {
    /// Init, main and ephemeral containers.
    pub fn all(&self) -> impl Iterator<Item = &ContainerStatus> {
        let started = self.init.iter().chain(&self.containers);
        started.chain(&self.ephemeral)
    }
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not all containers have been started yet.
    Pending,
    /// At least one runs or is being restarted.
    Running,
    /// All ended with 0 and none is restarted.
    Succeeded,
    /// All ended, at least one badly.
    Failed,
}

/// Status of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerStatus {
    /// Name.
    pub name: ContainerName,
    /// Image as the manifest writes it.
    pub image: String,
    /// Image as the runtime resolved it, empty before the first start.
    pub image_id: String,
    /// Who the present instance runs as, where the runtime says.
    pub user: Option<ContainerUser>,
    /// Present instance.
    pub id: Option<ContainerId>,
    /// State.
    pub state: ContainerState,
    /// How the instance before ended.
    pub last: Option<Terminated>,
    /// Ready: running and its readiness probe passes.
    pub ready: bool,
    /// Started: running, startup probe passed, postStart over.
    pub started: bool,
    /// Restarts so far.
    pub restart_count: u32,
}

/// One of the three container states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// Not running.
    Waiting {
        /// `ContainerCreating`, `PodInitializing`, `CrashLoopBackOff`, `ErrImagePull` and so on.
        reason: String,
        /// In words, may be empty.
        message: String,
    },
    /// Running.
    Running {
        /// Since.
        started_at: Time,
    },
    /// Ended.
    Terminated(Terminated),
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminated {
    /// Exit code.
    pub exit_code: i32,
    /// Reason.
    pub reason: String,
    /// Termination message.
    pub message: String,
    /// Start time, if it ever started.
    pub started_at: Option<Time>,
    /// End time.
    pub finished_at: Time,
    /// Instance.
    pub id: ContainerId,
}
