//! Plans in words, for logs, events and `gpuctl explain`.

use std::fmt;

use crate::plan::{Action, Life, StopWhy, Why};
use crate::status::Phase;

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HoldDevices => f.write_str("hold its devices"),
            Self::PrepareHost => f.write_str("make directories, cgroup and volumes"),
            Self::RefreshVolumes => f.write_str("bring its volumes up to date"),
            Self::EnsureImage { container } => write!(f, "make sure of the image of {container}"),
            Self::CreateSandbox { attempt } => write!(f, "create sandbox {attempt}"),
            Self::CreateContainer { container, .. } => write!(f, "create container {container}"),
            Self::StartContainer { container, .. } => write!(f, "start container {container}"),
            Self::PostStart { container, .. } => write!(f, "run the postStart hook of {container}"),
            Self::PreStop { container, .. } => write!(f, "run the preStop hook of {container}"),
            Self::StopContainer { container, .. } => write!(f, "stop container {container}"),
            Self::RemoveContainer {
                container, attempt, ..
            } => {
                write!(f, "remove dead container {container}, run {attempt}")
            }
            Self::ClearContainer { container, .. } => {
                write!(f, "remove container {container}, which begins anew")
            }
            Self::StopSandbox { .. } => f.write_str("stop the sandbox"),
            Self::RemoveSandbox { .. } => f.write_str("remove the sandbox"),
            Self::CleanHost => f.write_str("remove volumes, cgroup and directories"),
            Self::ReleaseDevices => f.write_str("give its devices back"),
            Self::RemoveLogs => f.write_str("remove its logs"),
            Self::InspectPod => f.write_str("look at it in the runtime"),
            Self::ReadTermination { container, .. } => {
                write!(f, "read the termination message of {container}")
            }
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PodStarts => "the pod starts",
            Self::ContentsChanged => "what its volumes show has changed",
            Self::SandboxBroken { what } => return write!(f, "its sandbox: {what}"),
            Self::ContainerStarts => "it is its turn",
            Self::ContainerRestarts {
                exit_code: Some(code),
            } => {
                return write!(
                    f,
                    "it ended with exit code {code} and its policy says again"
                );
            }
            Self::ContainerRestarts { exit_code: None } => "it ended and its policy says again",
            Self::DefinitionChanged => "its image or definition changed",
            Self::LivenessFailed => "its liveness probe failed",
            Self::StartupFailed => "its startup probe failed",
            Self::PostStartFailed => "its postStart hook failed",
            Self::InitRunsAgain => "init containers have to run again first",
            Self::PodStops(why) => return write!(f, "{why}"),
            Self::Surplus => "more dead containers than are kept",
            Self::LastReference => "nothing else of the pod is left",
            Self::ContainerEnded => "it ended",
            Self::AllRestart => "a container ended in a way that restarts all of them",
            Self::DetailsMissing => "addresses or exit codes are not known yet",
            Self::StateUnknown => "the runtime lost track of it",
        })
    }
}

impl fmt::Display for StopWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Removed => "its manifest was removed or replaced",
            Self::Deleted => "it was deleted",
            Self::Stranger => "no source wants this pod",
            Self::Finished => "all its containers ended for good",
            Self::DeadlineExceeded => "it ran longer than activeDeadlineSeconds",
            Self::Refused => "this node can never run it",
        })
    }
}

impl Life {
    /// One word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Stopping { .. } => "stopping",
            Self::Cleaning => "cleaning",
            Self::Finished => "finished",
            Self::Done => "done",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        })
    }
}
