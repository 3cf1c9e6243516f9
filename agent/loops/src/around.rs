//! What all owner tasks share.

use agent_core::Time;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::events::EventLog;
use crate::images::Images;
use crate::mailbox::Mailbox;
use crate::pleg::{RuntimeWatch, WatchMode};
use crate::settings::{Doors, Settings};
use crate::slots::Slots;
use crate::snapshot::PodChanges;

/// The surroundings of a pod task.
#[derive(Debug)]
pub(crate) struct Around {
    pub(crate) doors: Doors,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) events: EventLog,
    pub(crate) images: Images,
    pub(crate) slots: Slots,
    pub(crate) runtime: watch::Receiver<RuntimeWatch>,
    /// Newest snapshots for the supervisor.
    pub(crate) board: Mailbox<PodChanges>,
}

impl Around {
    /// The present moment.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Whether the runtime tells by itself what happens.
    pub(crate) fn has_events(&self) -> bool {
        self.runtime.borrow().mode == WatchMode::Events
    }

    /// Addresses of pods on the host network.
    pub(crate) fn node_ips(&self) -> Vec<String> {
        self.settings
            .node_ips
            .iter()
            .map(ToString::to_string)
            .collect()
    }
}
