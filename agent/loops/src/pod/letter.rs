//! What reaches a pod task from outside, merged.

use agent_core::{Observation, Stop};

use crate::ports::WantedPod;

/// Looks that may wait to be read; a pod task reads at once, so more means that it is stuck and one
/// fresh look will be worth more than all of these.
const MAX_LOOKS: usize = 32;

/// News since the task read last.
#[derive(Debug, Default)]
pub(crate) struct PodLetter {
    /// A newer manifest of the same pod.
    pub(crate) want: Option<WantedPod>,
    /// A request to stop.
    pub(crate) stop: Option<Stop>,
    /// Looks at the pod, oldest first.
    pub(crate) looks: Vec<Observation>,
    /// Something happened in the runtime that the looks do not show.
    pub(crate) touched: bool,
    /// Devices were given back or have become usable.
    pub(crate) devices_changed: bool,
    /// What the manifest refers to has changed.
    pub(crate) references_changed: bool,
    /// The agent ends: finish what cannot be dropped, begin nothing.
    pub(crate) ending: bool,
}

impl PodLetter {
    /// Adds a look.
    pub(crate) fn look(&mut self, observation: Observation) {
        if self.looks.len() >= MAX_LOOKS {
            self.looks.clear();
            self.touched = true;
        }
        self.looks.push(observation);
    }
}
