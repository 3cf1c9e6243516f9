//! Reports that the owner of the probe has not taken yet.

use std::collections::VecDeque;

use gpu_model::ProbeReport;

/// Events that wait. The keeper takes them at once; this many come together only in a storm, and then
/// the counters tell more than the events.
const MAX_EVENTS: usize = 256;

/// A queue that cannot grow without bound: a newer state replaces an older one of the same kind, and of
/// too many events the rest becomes one [`ProbeReport::Missed`].
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<ProbeReport>,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<ProbeReport> {
        self.queue.pop_front()
    }

    pub(crate) fn push(&mut self, report: ProbeReport) {
        if let ProbeReport::Event(_) = report {
            let events = self
                .queue
                .iter()
                .filter(|it| matches!(it, ProbeReport::Event(_)))
                .count();
            if events >= MAX_EVENTS {
                return self.push(ProbeReport::Missed);
            }
        } else {
            self.queue.retain(|waiting| !replaces(&report, waiting));
        }
        self.queue.push_back(report);
    }
}

/// Whether a newer report makes an older one pointless.
fn replaces(newer: &ProbeReport, older: &ProbeReport) -> bool {
    use ProbeReport::{Driver, Event, Lost, Machine, Missed, Reading, Responsive, Unresponsive};
    match (newer, older) {
        (Driver(_), Driver(_)) | (Machine(_), Machine(_)) | (Missed, Missed) => true,
        (Reading(newer, _), Reading(older, _)) => newer == older,
        (
            Responsive(newer) | Unresponsive { gpu: newer, .. } | Lost { gpu: newer, .. },
            Responsive(older) | Unresponsive { gpu: older, .. } | Lost { gpu: older, .. },
        ) => newer == older,
        (
            Driver(_)
            | Machine(_)
            | Missed
            | Reading(..)
            | Event(_)
            | Responsive(_)
            | Unresponsive { .. }
            | Lost { .. },
            _,
        ) => false,
    }
}

#[cfg(test)]
mod tests;
