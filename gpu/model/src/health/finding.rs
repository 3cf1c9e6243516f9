//! One thing that is wrong with one device, and how it ends.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{HealthState, Report};
use crate::blame::Target;
use crate::reading::RecoveryAction;
use crate::time::Time;

/// One thing that is wrong with one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Number of the fault, the same in every log line about it.
    pub fault: u64,
    /// Which device.
    pub target: Target,
    /// What was seen.
    pub cause: Cause,
    /// Verdict because of it.
    pub state: HealthState,
    /// What has to be done.
    pub remedy: Remedy,
    /// In words.
    pub message: String,
    /// When it was seen first.
    pub first_seen: Time,
    /// When it was seen last.
    pub last_seen: Time,
    /// How often it was seen; a condition that lasts counts once.
    pub count: u64,
    /// How it ends.
    pub clears: Clearing,
    /// Time of clean answers after proof.
    pub hold: Duration,
    /// When the proof was seen.
    pub proof: Option<Time>,
    /// The driver has asked for a recovery since.
    pub(super) asked: bool,
}

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// This XID.
    Xid(u32),
    /// An XID that is not in the catalogue. All such are one cause, or a driver that reports random
    /// numbers would fill the book.
    UnknownXid,
    /// The driver asks for a recovery (NVML field 230).
    Recovery,
    /// Uncorrected memory errors since the driver was loaded.
    EccUncorrected,
    /// A memory row waits for remapping.
    RemapPending,
    /// A memory row could not be remapped.
    RemapFailed,
    /// The driver has lost the GPU, or it needs a reset (NVML codes 15 and 16).
    Lost,
    /// Calls on it fail with another code.
    Failing,
    /// A call on it did not end in time.
    Unresponsive,
    /// It is counted but cannot be read.
    Silent,
    /// It was there once and is not now.
    Missing,
    /// Its NVLink fabric is not complete.
    Fabric,
}

/// What has to be done, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Remedy {
    /// Nothing.
    None,
    /// Move work away.
    Drain,
    /// Reset the GPU.
    Reset,
    /// Reboot the node.
    Reboot,
    /// Have the hardware looked after.
    Replace,
}

/// How a finding ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Clearing {
    /// Proof: a reset was seen. That is a boot, a driver that was loaded again, a lost GPU that answers, error
    /// counters that went down, or a recovery that the driver asked for and asks for no longer.
    Recovery,
    /// Proof: it is no longer reported.
    Gone,
    /// Proof: it did not happen again.
    Quiet,
    /// At once when the condition ends; no hold time.
    AtOnce,
}

impl Finding {
    pub(super) fn new(fault: u64, report: Report, hold: Duration, now: Time) -> Self {
        let Report {
            target,
            cause,
            state,
            remedy,
            clears,
            message,
        } = report;
        let proof = (clears == Clearing::Quiet).then_some(now);
        Self {
            fault,
            target,
            cause,
            state,
            remedy,
            message,
            first_seen: now,
            last_seen: now,
            count: 1,
            clears,
            hold,
            proof,
            asked: false,
        }
    }

    /// It happened again: whatever proof there was is void.
    pub(super) fn repeat(&mut self, report: Report, now: Time) {
        self.state = self.state.max(report.state);
        self.remedy = self.remedy.max(report.remedy);
        self.message = report.message;
        self.last_seen = now;
        self.count = self.count.saturating_add(1);
        self.proof = (self.clears == Clearing::Quiet).then_some(now);
        self.asked = false;
    }

    /// Takes note of field 230. A recovery that was asked for and is asked for no longer was done.
    pub(super) fn hear_recovery(&mut self, action: Option<RecoveryAction>, now: Time) {
        if self.clears != Clearing::Recovery {
            return;
        }
        match action {
            Some(RecoveryAction::None) if self.asked => self.proof = self.proof.or(Some(now)),
            Some(RecoveryAction::None) | None => {}
            Some(_) => {
                self.asked = true;
                self.proof = None;
            }
        }
    }

    /// When a clean reading clears it.
    pub(super) fn hold_end(&self) -> Option<Time> {
        self.proof.map(|proof| proof.plus(self.hold))
    }

    /// How it ends, in words.
    pub fn how_it_clears(&self) -> String {
        let hold = self.hold.as_secs();
        match (self.clears, self.proof) {
            (Clearing::AtOnce, _) => "when the condition ends".to_owned(),
            (Clearing::Quiet, _) => format!("after {hold} s of clean answers without it"),
            (_, Some(_)) => format!("proof was seen; after {hold} s of clean answers"),
            (Clearing::Gone, None) => {
                format!("when the driver no longer reports it, after {hold} s of clean answers")
            }
            (Clearing::Recovery, None) => {
                format!(
                    "when a reset, reboot or driver reload was seen, after {hold} s of clean answers"
                )
            }
        }
    }
}

impl Cause {
    /// Name for tables and the API.
    pub fn name(self) -> String {
        match self {
            Self::Xid(code) => format!("xid-{code}"),
            Self::UnknownXid => "xid-unknown".to_owned(),
            Self::Recovery => "recovery-action".to_owned(),
            Self::EccUncorrected => "ecc-uncorrected".to_owned(),
            Self::RemapPending => "remap-pending".to_owned(),
            Self::RemapFailed => "remap-failed".to_owned(),
            Self::Lost => "lost".to_owned(),
            Self::Failing => "failing".to_owned(),
            Self::Unresponsive => "unresponsive".to_owned(),
            Self::Silent => "silent".to_owned(),
            Self::Missing => "missing".to_owned(),
            Self::Fabric => "fabric".to_owned(),
        }
    }

    /// The XID, if it is one of the catalogue.
    pub fn xid(self) -> Option<u32> {
        match self {
            Self::Xid(code) => Some(code),
            _ => None,
        }
    }
}

impl Remedy {
    /// One word for tables and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Drain => "drain",
            Self::Reset => "reset",
            Self::Reboot => "reboot",
            Self::Replace => "replace",
        }
    }
}
