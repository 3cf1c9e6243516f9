//! Calls that leave the agent.

use agent_core::{PodUid, Time};

/// One call through a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// When it began.
    pub at: Time,
    /// Which one.
    pub verb: Verb,
    /// About which pod, if about one.
    pub uid: Option<PodUid>,
}

/// Every call of the ports that has an effect or a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// `Runtime::run_sandbox`.
    RunSandbox,
    /// `Runtime::stop_sandbox`.
    StopSandbox,
    /// `Runtime::remove_sandbox`.
    RemoveSandbox,
    /// `Runtime::create_container`.
    CreateContainer,
    /// `Runtime::start_container`.
    StartContainer,
    /// `Runtime::stop_container`.
    StopContainer,
    /// `Runtime::remove_container`.
    RemoveContainer,
    /// `Runtime::image`.
    Image,
    /// `Runtime::pull`.
    Pull,
    /// `Runtime::exec`.
    Exec,
    /// `Runtime::reopen_log`.
    ReopenLog,
    /// `Runtime::list`.
    List,
    /// `Runtime::observe`.
    Observe,
    /// `Runtime::events`.
    Events,
    /// `Host::prepare_pod`.
    PreparePod,
    /// `Host::prepare_container`.
    PrepareContainer,
    /// `Host::clean_pod`.
    CleanPod,
    /// `Host::remove_logs`.
    RemoveLogs,
    /// `Host::leftovers`.
    Leftovers,
    /// `Devices::hold`.
    Hold,
    /// `Devices::release`.
    Release,
}

impl Verb {
    /// Whether it changes the world, so that a crash around it matters.
    pub fn changes(self) -> bool {
        !matches!(
            self,
            Self::Image
                | Self::List
                | Self::Observe
                | Self::Events
                | Self::Leftovers
                | Self::ReopenLog
        )
    }

    /// Whether it goes to the container runtime.
    pub fn to_runtime(self) -> bool {
        !matches!(
            self,
            Self::PreparePod
                | Self::PrepareContainer
                | Self::CleanPod
                | Self::RemoveLogs
                | Self::Leftovers
                | Self::Hold
                | Self::Release
        )
    }
}
