//! How well each GPU is: what was found out, what has to be done, and when it counts as over.
//!
//! # Rules
//!
//! - Findings are kept by device and cause, so one cause that clears cannot hide another, and a harmless
//!   one never overwrites a severe one. The state is the worst of all findings.
//! - A fatal XID takes the GPU away at once. The driver's recovery action (NVML field 230) is a finding
//!   of its own: it can widen or raise what the catalogue says; `none` alone clears nothing.
//! - A finding clears on proof (see [`Clearing`]) and when the GPU has answered cleanly for a hold
//!   time after it: 60 s, doubled up to 10 minutes for a cause that comes back within a day. Only a
//!   reading can clear it: a GPU that says nothing proves nothing.
//! - What was found survives a restart of the agent; that a GPU was once read does not.

mod evidence;
mod finding;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::blame::Target;
use crate::facts::FabricFacts;
use crate::ids::GpuUuid;
use crate::inventory::Presence;
use crate::reading::{Reading, RecoveryAction};
use crate::time::Time;
use crate::xid::{Xid, XidClass};

use record::{Record, Watch};

pub use finding::{Cause, Clearing, Finding, Remedy};

/// Shortest time of clean answers after proof. The slow poll is as long, so at least one reading after
/// the proving one has to be clean.
pub const HOLD_TIME: Duration = Duration::from_secs(60);
/// Longest hold time: a cause that keeps coming back still gets its chance several times an hour.
pub const HOLD_TIME_LIMIT: Duration = Duration::from_secs(600);
/// A cause that comes back within this time of its clearing is held twice as long.
pub const RELAPSE_TIME: Duration = Duration::from_secs(24 * 3600);

/// Verdict on a device, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HealthState {
    /// It answers, and nothing speaks against it.
    Healthy,
    /// Nobody looks at it: it was not read yet, or the driver's library does not answer.
    Unmonitored,
    /// It works with less margin than it should have. It is told, not taken away.
    Degraded,
    /// It does not answer.
    Unresponsive,
    /// It must not be used.
    Unhealthy,
}

/// Findings of all GPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HealthBook {
    gpus: BTreeMap<GpuUuid, Record>,
    /// Number of the next finding, so that every log line about one fault carries the same number.
    next: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum HealthEvent<'a> {
    /// The driver reported an XID for this device.
    Xid(Target, u32),
    /// A reading is complete.
    Reading(&'a GpuUuid, &'a Reading),
    /// Calls on it fail with this NVML code.
    Lost(&'a GpuUuid, u32),
    /// A call on it did not end in time.
    Unresponsive(&'a GpuUuid, &'a str),
    /// It answers again.
    Responsive(&'a GpuUuid),
    /// A scan is complete: where the GPU is, and its NVLink fabric if it has one.
    Scanned(&'a GpuUuid, &'a Presence, Option<&'a FabricFacts>),
    /// Nobody reads GPUs any more: the library does not answer.
    Unwatched,
    /// All GPUs went through a reset: the machine was booted, or the driver was unloaded and loaded again.
    Restarted,
    /// The GPU was replaced by another one.
    Forgotten(&'a GpuUuid),
}

/// What changed.
#[derive(Clone, Debug, PartialEq)]
pub enum HealthChange {
    /// Something new is wrong.
    Found(Finding),
    /// It happened again, or turned better or worse.
    Repeated(Finding),
    /// It counts as over.
    Cleared(Finding),
    /// An XID that says nothing against the GPU.
    Noticed(Target, u32),
}

/// A finding before it is in the book.
struct Report {
    target: Target,
    cause: Cause,
    state: HealthState,
    remedy: Remedy,
    clears: Clearing,
    message: String,
}

impl HealthBook {
    /// The book after `event`, and what changed.
    pub fn apply(mut self, event: HealthEvent<'_>, now: Time) -> (Self, Vec<HealthChange>) {
        let changes = match event {
            HealthEvent::Xid(target, code) => self.xid(target, code, now),
            HealthEvent::Reading(gpu, reading) => self.reading(gpu, reading, now),
            HealthEvent::Lost(gpu, code) => self.report(evidence::lost(gpu, code), now),
            HealthEvent::Unresponsive(gpu, detail) => {
                self.report_once(evidence::unresponsive(gpu, detail), now)
            }
            HealthEvent::Responsive(gpu) => self.drop_cause(gpu, Cause::Unresponsive),
            HealthEvent::Scanned(gpu, presence, fabric) => {
                let mut changes = self.presence(gpu, presence, now);
                changes.extend(self.fabric(gpu, presence, fabric, now));
                changes
            }
            HealthEvent::Unwatched => {
                for record in self.gpus.values_mut().filter(|r| r.watch == Watch::Read) {
                    record.watch = Watch::Stopped;
                }
                Vec::new()
            }
            HealthEvent::Restarted => {
                self.gpus
                    .values_mut()
                    .for_each(|record| record.was_reset(now));
                Vec::new()
            }
            HealthEvent::Forgotten(gpu) => {
                let gone = self.gpus.remove(gpu).unwrap_or_default();
                gone.findings
                    .into_iter()
                    .map(HealthChange::Cleared)
                    .collect()
            }
        };
        (self, changes)
    }

    /// Verdict on a GPU as a whole; what hits only one of its MIG instances does not count.
    pub fn state(&self, gpu: &GpuUuid) -> HealthState {
        self.worst(gpu, |target| target.instance.is_none())
    }

    /// Verdict on a MIG device of a GPU.
    pub fn partition_state(
        &self,
        gpu: &GpuUuid,
        gpu_instance: u32,
        compute_instance: u32,
    ) -> HealthState {
        self.worst(gpu, |target| target.covers(gpu_instance, compute_instance))
    }

    /// Whether a GPU has been read since the start, so that the verdict means something.
    pub fn was_read(&self, gpu: &GpuUuid) -> bool {
        self.gpus
            .get(gpu)
            .is_some_and(|record| record.watch != Watch::NeverRead)
    }

    /// Everything that is wrong with a GPU and its MIG instances, oldest first.
    pub fn findings(&self, gpu: &GpuUuid) -> &[Finding] {
        self.gpus
            .get(gpu)
            .map(|record| record.findings.as_slice())
            .unwrap_or_default()
    }

    /// The strongest remedy that any finding of a GPU asks for.
    pub fn remedy(&self, gpu: &GpuUuid) -> Remedy {
        let remedies = self.findings(gpu).iter().map(|finding| finding.remedy);
        remedies.max().unwrap_or(Remedy::None)
    }

    /// When the next hold time after `after` ends: then a reading is worth asking for.
    pub fn next_hold_end(&self, after: Time) -> Option<Time> {
        self.hold_ends()
            .map(|(end, _)| end)
            .filter(|end| *end > after)
            .min()
    }

    /// GPUs with a hold time that ended after `after` and not after `until`.
    pub fn held_until(&self, after: Time, until: Time) -> BTreeSet<GpuUuid> {
        let ended = self
            .hold_ends()
            .filter(|(end, _)| after < *end && *end <= until);
        ended.map(|(_, gpu)| gpu.clone()).collect()
    }

    fn hold_ends(&self) -> impl Iterator<Item = (Time, &GpuUuid)> {
        let findings = self.gpus.values().flat_map(|record| &record.findings);
        findings.filter_map(|finding| Some((finding.hold_end()?, &finding.target.gpu)))
    }

    fn worst(&self, gpu: &GpuUuid, hit: impl Fn(&Target) -> bool) -> HealthState {
        let record = self.gpus.get(gpu);
        let watched = match record.map(|record| record.watch) {
            Some(Watch::Read) => HealthState::Healthy,
            _ => HealthState::Unmonitored,
        };
        let findings = self
            .findings(gpu)
            .iter()
            .filter(|finding| hit(&finding.target));
        findings
            .map(|finding| finding.state)
            .fold(watched, HealthState::max)
    }

    fn xid(&mut self, target: Target, code: u32, now: Time) -> Vec<HealthChange> {
        let xid = Xid::of(code);
        match xid.class {
            XidClass::Application | XidClass::Ignore => vec![HealthChange::Noticed(target, code)],
            _ => self.report(evidence::xid(target, code, xid), now),
        }
    }

    fn reading(&mut self, gpu: &GpuUuid, reading: &Reading, now: Time) -> Vec<HealthChange> {
        let reports = evidence::of_reading(gpu, reading);
        let asks = reading
            .recovery
            .is_some_and(|action| action != RecoveryAction::None);
        let record = record_of(&mut self.gpus, gpu);
        record.look_for_proof(reading, asks, now);
        for finding in record
            .findings
            .iter_mut()
            .filter(|f| f.clears == Clearing::Gone)
        {
            if reports.iter().any(|report| report.cause == finding.cause) {
                finding.proof = None;
            } else if evidence::is_told(finding.cause, reading) {
                finding.proof = finding.proof.or(Some(now));
            }
        }
        let mut changes = Vec::new();
        for report in reports {
            changes.extend(self.report_once(report, now));
        }
        if !asks {
            let cleared = record_of(&mut self.gpus, gpu).clear_due(now);
            changes.extend(cleared.into_iter().map(HealthChange::Cleared));
        }
        changes
    }

    fn presence(&mut self, gpu: &GpuUuid, presence: &Presence, now: Time) -> Vec<HealthChange> {
        let (report, over) = match presence {
            Presence::Present => (None, &[Cause::Silent, Cause::Missing][..]),
            Presence::Silent(fault) => (Some(evidence::silent(gpu, fault)), &[Cause::Missing][..]),
            Presence::Missing => (Some(evidence::missing(gpu)), &[Cause::Silent][..]),
        };
        let mut changes: Vec<_> = over
            .iter()
            .flat_map(|cause| self.drop_cause(gpu, *cause))
            .collect();
        let returned = |change: &HealthChange| matches!(change, HealthChange::Cleared(finding) if finding.cause == Cause::Missing);
        if *presence == Presence::Present && changes.iter().any(returned) {
            record_of(&mut self.gpus, gpu).was_reset(now);
        }
        changes.extend(
            report
                .map(|report| self.report_once(report, now))
                .unwrap_or_default(),
        );
        changes
    }

    fn fabric(
        &mut self,
        gpu: &GpuUuid,
        presence: &Presence,
        fabric: Option<&FabricFacts>,
        now: Time,
    ) -> Vec<HealthChange> {
        match fabric {
            _ if *presence != Presence::Present => Vec::new(),
            Some(fabric) if !fabric.complete => {
                self.report_once(evidence::fabric(gpu, fabric), now)
            }
            _ => self.drop_cause(gpu, Cause::Fabric),
        }
    }

    /// Reports a lasting condition: one finding however often it is seen, and as bad as it is now.
    fn report_once(&mut self, report: Report, now: Time) -> Vec<HealthChange> {
        let record = record_of(&mut self.gpus, &report.target.gpu);
        let Some(finding) = record.find(&report.target, report.cause) else {
            return self.report(report, now);
        };
        let changed = finding.state != report.state || finding.remedy != report.remedy;
        finding.state = report.state;
        finding.remedy = report.remedy;
        finding.message = report.message;
        finding.last_seen = now;
        if changed {
            vec![HealthChange::Repeated(finding.clone())]
        } else {
            Vec::new()
        }
    }

    fn report(&mut self, report: Report, now: Time) -> Vec<HealthChange> {
        let record = record_of(&mut self.gpus, &report.target.gpu);
        if let Some(finding) = record.find(&report.target, report.cause) {
            finding.repeat(report, now);
            return vec![HealthChange::Repeated(finding.clone())];
        }
        let hold = record.hold_time(&report, now);
        let finding = Finding::new(self.next, report, hold, now);
        self.next += 1;
        record.findings.push(finding.clone());
        vec![HealthChange::Found(finding)]
    }

    /// Ends a condition that needs no hold time.
    fn drop_cause(&mut self, gpu: &GpuUuid, cause: Cause) -> Vec<HealthChange> {
        let Some(record) = self.gpus.get_mut(gpu) else {
            return Vec::new();
        };
        let gone = record
            .findings
            .extract_if(.., |finding| finding.cause == cause);
        gone.map(HealthChange::Cleared).collect()
    }
}

fn record_of<'a>(gpus: &'a mut BTreeMap<GpuUuid, Record>, gpu: &GpuUuid) -> &'a mut Record {
    gpus.entry(gpu.clone()).or_default()
}

impl HealthState {
    /// One word for tables and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Unmonitored => "unmonitored",
            Self::Degraded => "degraded",
            Self::Unresponsive => "unresponsive",
            Self::Unhealthy => "unhealthy",
        }
    }
}

#[cfg(test)]
mod tests;
