//! Events of the driver (XID and others), kept for the event sets of all processes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// GPU or compute instance id of an event that concerns the whole GPU.
pub const NOT_APPLICABLE: u32 = u32::MAX;

/// Event sets that wait are woken at once, so only a set that nobody waits on can fall behind.
/// 256 is far more than one scripted scenario raises; a set that is further behind loses the oldest,
/// as it may with the real driver, which keeps even fewer.
const KEPT: usize = 256;

/// One event of one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Position in the order of all events, from 1.
    pub sequence: u64,
    /// Minor number of the GPU.
    pub gpu: u32,
    /// One `nvmlEventType` bit.
    pub kind: u64,
    /// The XID code of an XID event; 0 for most others.
    pub data: u64,
    /// GPU instance, or [`NOT_APPLICABLE`].
    pub gpu_instance: u32,
    /// Compute instance, or [`NOT_APPLICABLE`].
    pub compute_instance: u32,
}

/// The last events of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventLog {
    /// Sequence number of the newest event so far; 0 before the first.
    pub newest: u64,
    /// Oldest first.
    pub recent: VecDeque<Event>,
}

impl EventLog {
    /// Records an event; its sequence number is assigned here.
    pub fn push(&mut self, event: Event) {
        self.newest = self.newest.saturating_add(1);
        self.recent.push_back(Event {
            sequence: self.newest,
            ..event
        });
        while self.recent.len() > KEPT {
            self.recent.pop_front();
        }
    }

    /// Records an event of a whole GPU.
    pub fn push_whole(&mut self, gpu: u32, kind: u64, data: u64) {
        self.push(Event {
            sequence: 0,
            gpu,
            kind,
            data,
            gpu_instance: NOT_APPLICABLE,
            compute_instance: NOT_APPLICABLE,
        });
    }
}
