//! What the book keeps of one GPU: its findings, and what shows that it was reset.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Cause, Clearing, Finding, HOLD_TIME, HOLD_TIME_LIMIT, RELAPSE_TIME, Report};
use crate::blame::Target;
use crate::reading::Reading;
use crate::time::Time;

/// One GPU in the book.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) findings: Vec<Finding>,
    relapses: Vec<Relapse>,
    /// Of the last reading: a counter that went down shows that the GPU was reset.
    counters: Option<(u64, u64)>,
    #[serde(skip)]
    pub(super) watch: Watch,
}

/// Whether somebody reads the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Watch {
    #[default]
    NeverRead,
    Read,
    Stopped,
}

/// Memory of a finding that cleared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Relapse {
    target: Target,
    cause: Cause,
    hold: Duration,
    cleared: Time,
}

impl Record {
    pub(super) fn find(&mut self, target: &Target, cause: Cause) -> Option<&mut Finding> {
        self.findings
            .iter_mut()
            .find(|f| f.cause == cause && f.target == *target)
    }

    /// A reset was seen: the proof that fatal findings wait for.
    pub(super) fn was_reset(&mut self, now: Time) {
        self.counters = None;
        let waiting = self
            .findings
            .iter_mut()
            .filter(|f| f.clears == Clearing::Recovery);
        waiting.for_each(|finding| finding.proof = finding.proof.or(Some(now)));
    }

    /// Takes out what had its proof and its hold time, for a clean reading.
    pub(super) fn clear_due(&mut self, now: Time) -> Vec<Finding> {
        let due = |f: &mut Finding| f.hold_end().is_some_and(|end| end <= now);
        let cleared: Vec<Finding> = self.findings.extract_if(.., due).collect();
        for finding in &cleared {
            let (target, cause) = (finding.target.clone(), finding.cause);
            self.relapses
                .retain(|r| r.cause != cause || r.target != target);
            self.relapses.push(Relapse {
                target,
                cause,
                hold: finding.hold,
                cleared: now,
            });
        }
        cleared
    }

    /// Hold time of a new finding; longer if the last one of its kind cleared not long ago.
    pub(super) fn hold_time(&mut self, report: &Report, now: Time) -> Duration {
        self.relapses
            .retain(|relapse| now.since(relapse.cleared) < RELAPSE_TIME);
        let same = |r: &&Relapse| r.cause == report.cause && r.target == report.target;
        let before = self.relapses.iter().find(same);
        before.map_or(HOLD_TIME, |r| r.hold.saturating_mul(2).min(HOLD_TIME_LIMIT))
    }

    /// Takes note of a reading, and of what in it proves that a recovery has happened.
    pub(super) fn look_for_proof(&mut self, reading: &Reading, asks: bool, now: Time) {
        self.watch = Watch::Read;
        let counters = reading.ecc_uncorrected.zip(reading.ecc_corrected);
        let fell = |(old, new): ((u64, u64), (u64, u64))| new.0 < old.0 || new.1 < old.1;
        let reset = self.counters.zip(counters).is_some_and(fell);
        // A GPU that was lost and answers has been reset: nothing else brings it back.
        let returned = self
            .findings
            .iter()
            .any(|f| f.cause == Cause::Lost && f.proof.is_none());
        if reset || (returned && !asks) {
            self.was_reset(now);
        }
        self.counters = counters.or(self.counters);
        for finding in &mut self.findings {
            finding.hear_recovery(reading.recovery, now);
        }
    }
}
