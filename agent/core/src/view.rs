//! The bundle that one decision reads.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::have::PodHave;
use crate::ids::{ContainerId, PodName, PodUid};
use crate::memory::PodMemory;
use crate::plan::{Action, StopWhy};
use crate::time::Time;
use crate::want::PodWant;

/// Everything there is to know about one pod.
#[derive(Clone, Debug)]
pub struct PodView<'a> {
    /// Identity, also for a pod without a manifest.
    pub uid: &'a PodUid,
    /// Name, likewise.
    pub name: &'a PodName,
    /// The manifest; a stranger has none.
    pub want: Option<&'a PodWant>,
    /// What the runtime shows, with the results of own actions applied.
    pub have: &'a PodHave,
    /// What cannot be observed.
    pub memory: &'a PodMemory,
    /// Probe results by container instance.
    pub probes: &'a BTreeMap<ContainerId, ProbeResults>,
    /// Set once somebody asked for the pod's stop; never taken back, grace only shrinks.
    pub stop: Option<&'a Stop>,
    /// Actions in flight. Nothing is given back while something is being made.
    pub running: &'a BTreeSet<Action>,
    /// Settings of the node that decisions read.
    pub rules: &'a Rules,
}

/// Request to stop a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The cause.
    pub why: StopWhy,
    /// When it was asked.
    pub at: Time,
    /// Grace that replaces the manifest's, when given.
    pub grace: Option<Duration>,
}

impl Stop {
    /// Both requests in one: the grace period only shrinks, the newer cause is told.
    /// `manifest` is the pod's own grace period.
    #[must_use]
    pub fn merged(self, newer: Self, manifest: Duration) -> Self {
        let deadline = |stop: Self| stop.at.plus(stop.grace.unwrap_or(manifest));
        let grace = if deadline(newer) < deadline(self) {
            Some(deadline(newer).since(self.at))
        } else {
            self.grace
        };
        Self {
            why: newer.why,
            at: self.at,
            grace,
        }
    }
}

/// Present verdict of each probe of a container instance. `None`: no verdict yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeResults {
    /// Startup probe.
    pub startup: Option<bool>,
    /// Liveness probe.
    pub liveness: Option<bool>,
    /// Readiness probe.
    pub readiness: Option<bool>,
}

/// Node settings that decisions read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// First crash back-off delay, 10 s in the stock kubelet.
    pub backoff_base: Duration,
    /// Longest crash back-off delay (`crashLoopBackOff.maxContainerRestartPeriod`, 300 s).
    pub backoff_cap: Duration,
    /// How long a pod of the API waits for devices before it is refused; zero: the stock kubelet's way.
    /// Static pods wait without end, since nobody would make them again.
    pub device_wait: Duration,
}
