//! What `decide` answers: a life stage, one wave of actions, when to look again, and the status.

use std::time::Duration;

use crate::ids::{ContainerId, ContainerName, SandboxId};
use crate::memory::PodEnd;
use crate::status::PodStatus;
use crate::time::Time;

/// The answer of one decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where the pod stands.
    pub life: Life,
    /// Actions that may start now, side by side. An action that runs already is listed again; one
    /// that is missing from the newest plan is no longer wanted.
    pub wave: Vec<Step>,
    /// Probes that should be running now. One that is missing from the newest plan is on hold: its
    /// last verdict stays.
    pub probing: Vec<Probing>,
    /// Set when the pod is over by its own rules; the owner task keeps it in the memory, so that
    /// neither the phase nor a grace period depends on when it is looked at.
    pub end: Option<PodEnd>,
    /// Look again at this time even if nothing happens.
    pub wake: Option<Time>,
    /// Status as it is now, rendered from the view.
    pub status: PodStatus,
}

/// One action and its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub action: Action,
    /// Why, for logs, events and `gpuctl explain`.
    pub why: Why,
}

/// One probe of one container instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probing {
    /// Which container.
    pub container: ContainerName,
    /// Its runtime identity.
    pub id: ContainerId,
    /// Which of its probes.
    pub kind: ProbeKind,
}

/// The three kinds of probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeKind {
    /// Gates the other two.
    Startup,
    /// Restarts the container when it fails.
    Liveness,
    /// Makes the pod not ready when it fails.
    Readiness,
}

/// Stage of a pod's life. `Waiting` and `Running` may alternate; after that only a container that
/// nobody knew of can take it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Life {
    /// Something is missing before it can run; the status says what.
    Waiting,
    /// Its sandbox is up and containers are being run as the manifest says.
    Running,
    /// Containers are being stopped.
    Stopping {
        /// The cause.
        why: StopWhy,
        /// When the last grace period ends.
        deadline: Time,
    },
    /// Nothing runs any more; sandbox, volumes, cgroup and devices are being given back.
    Cleaning,
    /// Ended for good and still wanted: host and devices are given back, the dead containers and
    /// their logs stay until the pod is removed.
    Finished,
    /// All gone; the owner task may end once no action is in flight.
    Done,
}

/// Why a pod stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopWhy {
    /// Its manifest was removed, or replaced by another pod.
    Removed,
    /// Somebody deleted it in the API.
    Deleted,
    /// The runtime shows a pod that no source wants.
    Stranger,
    /// All containers ended and none is restarted.
    Finished,
    /// `activeDeadlineSeconds` passed.
    DeadlineExceeded,
    /// This node can never serve it. Static pods wait instead.
    Refused,
}

/// Everything the agent does to a pod. `Ord` so that plans compare and running actions are keyed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Hold the devices of all containers of the pod; the grant is durable before it is used.
    HoldDevices,
    /// Make directories, cgroup and volumes. Repeatable.
    PrepareHost,
    /// Bring the contents of volumes up to date. Repeatable.
    RefreshVolumes,
    /// Make sure the image is on the node, by the container's pull policy.
    EnsureImage {
        /// For which container.
        container: ContainerName,
    },
    /// Make the pod's sandbox.
    CreateSandbox {
        /// Attempt number for the metadata.
        attempt: u32,
    },
    /// Make a container.
    CreateContainer {
        /// Which one.
        container: ContainerName,
        /// Restart count for the annotations and the log file's name.
        attempt: u32,
        /// Sandbox it joins.
        sandbox: SandboxId,
    },
    /// Start a created container.
    StartContainer {
        /// Which one.
        container: ContainerName,
        /// Its runtime identity.
        id: ContainerId,
    },
    /// Run the postStart hook of a running container.
    PostStart {
        /// Which one.
        container: ContainerName,
        /// Its runtime identity.
        id: ContainerId,
    },
    /// Run the preStop hook of a running container, at most until the deadline. Its failure is told
    /// and changes nothing.
    PreStop {
        /// Which one.
        container: ContainerName,
        /// Its runtime identity.
        id: ContainerId,
        /// End of the grace period.
        deadline: Time,
    },
    /// Stop a container; what is left of its grace period is `stop_timeout(deadline, now)`.
    StopContainer {
        /// Which one.
        container: ContainerName,
        /// Its runtime identity.
        id: ContainerId,
        /// End of the grace period.
        deadline: Time,
    },
    /// Remove a dead container and its log file.
    RemoveContainer {
        /// Which one.
        container: ContainerName,
        /// Its runtime identity.
        id: ContainerId,
        /// Whose log file goes with it.
        attempt: u32,
    },
    /// Remove a dead container because the whole pod begins anew in its sandbox; its log stays.
    ClearContainer {
        /// Which one.
        container: ContainerName,
        /// Its runtime identity.
        id: ContainerId,
    },
    /// Stop a sandbox: network down, pause process gone.
    StopSandbox {
        /// Which one.
        id: SandboxId,
    },
    /// Remove a stopped sandbox and its dead containers.
    RemoveSandbox {
        /// Which one.
        id: SandboxId,
    },
    /// Unmount volumes, remove cgroup and pod directories.
    CleanHost,
    /// Give the devices back. Only when no container of the pod is left.
    ReleaseDevices,
    /// Remove the pod's log directory. Only when the pod is not wanted any more.
    RemoveLogs,
    /// Look at the pod in the runtime with every detail, because some are missing.
    InspectPod,
    /// Read the termination message of an ended container.
    ReadTermination {
        /// Which one.
        container: ContainerName,
        /// Its runtime identity.
        id: ContainerId,
    },
}

impl Action {
    /// Whether it makes something in the runtime. One that failed may have made it all the same.
    pub fn is_making(&self) -> bool {
        matches!(
            self,
            Self::CreateSandbox { .. } | Self::CreateContainer { .. } | Self::StartContainer { .. }
        )
    }

    /// The container instance it acts on.
    pub fn container_id(&self) -> Option<&ContainerId> {
        match self {
            Self::StartContainer { id, .. }
            | Self::PostStart { id, .. }
            | Self::PreStop { id, .. }
            | Self::StopContainer { id, .. }
            | Self::RemoveContainer { id, .. }
            | Self::ClearContainer { id, .. }
            | Self::ReadTermination { id, .. } => Some(id),
            _ => None,
        }
    }

    /// The sandbox it acts on or in.
    pub fn sandbox_id(&self) -> Option<&SandboxId> {
        match self {
            Self::CreateContainer { sandbox: id, .. }
            | Self::StopSandbox { id }
            | Self::RemoveSandbox { id } => Some(id),
            _ => None,
        }
    }

    /// Whether the owner task may drop the action half way when the newest plan does not list it any
    /// more; others are awaited. Reading is safe to drop. So is a pull (the runtime keeps what it
    /// has fetched) and a hook: whoever no longer lists one has ended or is ending its container.
    /// Whatever creates, removes, holds or releases is not: nobody would know the result.
    pub fn cancel_safe(&self) -> bool {
        match self {
            Self::EnsureImage { .. }
            | Self::PostStart { .. }
            | Self::PreStop { .. }
            | Self::InspectPod
            | Self::ReadTermination { .. } => true,
            Self::HoldDevices
            | Self::PrepareHost
            | Self::RefreshVolumes
            | Self::CreateSandbox { .. }
            | Self::CreateContainer { .. }
            | Self::StartContainer { .. }
            | Self::StopContainer { .. }
            | Self::RemoveContainer { .. }
            | Self::ClearContainer { .. }
            | Self::StopSandbox { .. }
            | Self::RemoveSandbox { .. }
            | Self::CleanHost
            | Self::ReleaseDevices
            | Self::RemoveLogs => false,
        }
    }
}

/// Time a container gets between the runtime's request to end and the kill, in whole seconds.
///
/// Kubernetes 1.37: what is left of the grace period, where a part of a second counts as one, but at
/// least 2 s.
pub fn stop_timeout(deadline: Time, now: Time) -> Duration {
    let left = deadline.since(now);
    let begun = u64::from(left.subsec_nanos() > 0);
    Duration::from_secs(left.as_secs().saturating_add(begun).max(2))
}

/// The cause of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The pod is new here.
    PodStarts,
    /// What its volumes show has changed or is about to expire.
    ContentsChanged,
    /// The sandbox is missing, dead, doubled or has no address.
    SandboxBroken {
        /// Which of these.
        what: &'static str,
    },
    /// It is this container's turn.
    ContainerStarts,
    /// The container ended and its policy says again.
    ContainerRestarts {
        /// Exit code of the last run, if known.
        exit_code: Option<i32>,
    },
    /// The running container was made from another image or definition.
    DefinitionChanged,
    /// Its liveness probe failed.
    LivenessFailed,
    /// Its startup probe failed.
    StartupFailed,
    /// Its postStart hook failed.
    PostStartFailed,
    /// An init container must run again, so what runs stops first.
    InitRunsAgain,
    /// The pod stops.
    PodStops(StopWhy),
    /// More dead instances than are kept.
    Surplus,
    /// Nothing of the pod is left on this node but this.
    LastReference,
    /// The container ended.
    ContainerEnded,
    /// A container ended with an exit code that restarts all of them.
    AllRestart,
    /// Network or exit details are missing, or something failed half way.
    DetailsMissing,
    /// The runtime lost track of the container.
    StateUnknown,
}
