//! What the probe tells, and what follows from it.

use std::sync::Arc;
use std::time::Duration;

use gpu_model::{
    Blame, DriverState, GpuEvent, GpuUuid, HealthEvent, InventoryChange, MachineFacts, Presence,
    ProbeReport, Target, Time, Xid, blame, sift,
};

use crate::driver::{driver_reason, driver_words};
use crate::effects::Save;
use crate::notice::{Notice, Subject};
use crate::probe::ProbeAsk;
use crate::state::State;

/// NVML event type: an XID.
const XID: u64 = 0x8;
/// NVML event type: the MIG layout changed.
const MIG_CHANGED: u64 = 0x100;
/// NVML event types after which the counters of a GPU are worth reading: uncorrected error, storm of
/// corrected ones, retirement and its failure, poison, unavailable, recovery action.
const WORTH_READING: u64 = 0x2 | 0x200 | 0x400 | 0x800 | 0x1000 | 0x2000 | 0x4000 | 0x8000;

/// The same harmless XID of the same device is told once in this time: an application in a loop can
/// cause thousands a second.
pub(crate) const TELL_AGAIN: Duration = Duration::from_secs(10);

impl State {
    /// Takes in one report.
    pub(crate) fn hear(&mut self, report: ProbeReport, now: Time) {
        match report {
            ProbeReport::Driver(state) => self.driver_is(state, now),
            ProbeReport::Machine(facts) => self.scanned(&facts, now),
            ProbeReport::Event(event) => self.event(&event, now),
            ProbeReport::Missed => {
                self.tell_node(
                    now,
                    true,
                    "GpuEventsMissed",
                    "GPU events may have been lost".into(),
                );
                self.read_all();
            }
            // A GPU that no sound scan has shown has no place in the books.
            ProbeReport::Reading(gpu, reading) if self.inventory.gpu(&gpu).is_some() => {
                self.judge(HealthEvent::Reading(&gpu, &reading), now);
                self.unread.remove(&gpu);
                self.readings.insert(gpu.clone(), (now, Arc::new(*reading)));
                self.effects.touched.insert(gpu);
            }
            ProbeReport::Unresponsive { gpu, detail } if self.inventory.gpu(&gpu).is_some() => {
                self.judge(HealthEvent::Unresponsive(&gpu, &detail), now);
            }
            ProbeReport::Responsive(gpu) if self.inventory.gpu(&gpu).is_some() => {
                self.judge(HealthEvent::Responsive(&gpu), now);
                self.effects.ask(ProbeAsk::Read(gpu));
            }
            ProbeReport::Lost { gpu, code } if self.inventory.gpu(&gpu).is_some() => {
                self.judge(HealthEvent::Lost(&gpu, code), now);
            }
            ProbeReport::Reading(gpu, _)
            | ProbeReport::Unresponsive { gpu, .. }
            | ProbeReport::Responsive(gpu)
            | ProbeReport::Lost { gpu, .. } => {
                tracing::debug!(gpu = gpu.as_str(), "report on a GPU that no scan has shown");
            }
        }
    }

    pub(crate) fn driver_is(&mut self, state: DriverState, now: Time) {
        if state == self.driver {
            return;
        }
        match state {
            DriverState::NotLoaded => self.unloaded = true,
            DriverState::Ready if self.unloaded => {
                self.unloaded = false;
                self.judge(HealthEvent::Restarted, now);
                self.effects.save(Save::Now);
            }
            _ => {}
        }
        let ready = state == DriverState::Ready;
        if !ready {
            self.judge(HealthEvent::Unwatched, now);
        }
        self.tell_node(now, !ready, driver_reason(&state), driver_words(&state));
        self.driver = state;
        self.touch_all();
    }

    fn scanned(&mut self, facts: &MachineFacts, now: Time) {
        let (facts, rejected) = sift(facts);
        let before = std::mem::take(&mut self.rejected);
        for gpu in rejected.iter().filter(|gpu| !before.contains(gpu)) {
            let message = format!("GPU {} is left out: {}", gpu.index, gpu.why);
            self.tell_node(now, true, "GpuNotBelieved", message);
        }
        self.rejected = rejected;
        let (inventory, changes) = std::mem::take(&mut self.inventory).scanned(&facts);
        self.inventory = inventory;
        for change in changes {
            self.came_or_went(change, now);
        }
        let known: Vec<_> = self
            .inventory
            .gpus()
            .iter()
            .map(|(u, k)| (u.clone(), k.clone()))
            .collect();
        for (uuid, gpu) in known {
            let fabric = gpu.facts.fabric.as_ref();
            self.judge(HealthEvent::Scanned(&uuid, &gpu.presence, fabric), now);
        }
        self.note_unread(&facts, now);
        self.resolve(now);
        self.effects.describe = true;
        self.touch_all();
    }

    fn note_unread(&mut self, facts: &MachineFacts, now: Time) {
        let before = std::mem::take(&mut self.unread);
        for gpu in facts
            .gpus
            .iter()
            .filter(|gpu| !self.health.was_read(&gpu.uuid))
        {
            let found = before.get(&gpu.uuid).copied().unwrap_or(now);
            self.unread.insert(gpu.uuid.clone(), found);
        }
    }

    fn came_or_went(&mut self, change: InventoryChange, now: Time) {
        self.effects.save(Save::Now);
        let (warning, reason, gpu, message) = match change {
            InventoryChange::Added(gpu) => (false, "GpuAdded", gpu, "the GPU is there".to_owned()),
            InventoryChange::Returned(gpu) => (
                false,
                "GpuReturned",
                gpu,
                "the GPU is there again".to_owned(),
            ),
            InventoryChange::Replaced { old, new } => {
                self.judge(HealthEvent::Forgotten(&old), now);
                self.readings.remove(&old);
                let message = format!("the GPU has taken the slot of {old}");
                (false, "GpuReplaced", new, message)
            }
            // Its findings tell it.
            InventoryChange::FellSilent(_) | InventoryChange::Vanished(_) => return,
        };
        self.tell(now, warning, reason, Subject::Gpu(gpu), message);
    }

    fn event(&mut self, event: &GpuEvent, now: Time) {
        if event.kind & MIG_CHANGED != 0 {
            self.effects.ask(ProbeAsk::Rescan);
        }
        if event.kind & XID != 0 {
            let code = u32::try_from(event.data).unwrap_or(u32::MAX);
            self.xid(event, code, now);
        } else if event.kind & WORTH_READING != 0 {
            match event
                .gpu
                .clone()
                .filter(|gpu| self.inventory.gpu(gpu).is_some())
            {
                Some(gpu) => self.effects.ask(ProbeAsk::Read(gpu)),
                None => self.read_all(),
            }
        }
    }

    fn xid(&mut self, event: &GpuEvent, code: u32, now: Time) {
        let known = event.gpu.as_ref().and_then(|gpu| self.inventory.gpu(gpu));
        match blame(event, code, known.map(|known| &known.facts)) {
            Blame::Target(target) => {
                let gpu = target.gpu.clone();
                self.judge(HealthEvent::Xid(target, code), now);
                // Field 230 may say more than the catalogue.
                self.effects.ask(ProbeAsk::Read(gpu));
            }
            Blame::AnyGpu => {
                let meaning = Xid::of(code).meaning;
                let message = format!(
                    "XID {code} ({meaning}) on a GPU that the driver did not name; all are read again"
                );
                self.tell_node(now, true, "GpuXid", message);
                self.read_all();
            }
        }
    }

    fn read_all(&mut self) {
        let present = self
            .inventory
            .gpus()
            .iter()
            .filter(|(_, k)| k.presence == Presence::Present);
        let present: Vec<GpuUuid> = present.map(|(uuid, _)| uuid.clone()).collect();
        present
            .into_iter()
            .for_each(|gpu| self.effects.ask(ProbeAsk::Read(gpu)));
    }

    fn touch_all(&mut self) {
        self.effects
            .touched
            .extend(self.inventory.gpus().keys().cloned());
        self.effects.publish = true;
    }

    pub(crate) fn tell_node(
        &mut self,
        now: Time,
        warning: bool,
        reason: &'static str,
        message: String,
    ) {
        self.tell(now, warning, reason, Subject::Node, message);
    }

    pub(crate) fn tell(
        &mut self,
        at: Time,
        warning: bool,
        reason: &'static str,
        subject: Subject,
        message: String,
    ) {
        let why = String::new();
        let notice = Notice {
            at,
            warning,
            reason,
            subject,
            message,
            why,
            fault: None,
        };
        self.effects.notices.push(notice);
    }

    /// Whether this XID of this device was not told for a while; remembers that it is told now.
    pub(crate) fn is_news(&mut self, target: &Target, code: u32, now: Time) -> bool {
        self.told.retain(|_, told| now.since(*told) < TELL_AGAIN);
        let key = (target.clone(), code);
        if self.told.contains_key(&key) {
            return false;
        }
        self.told.insert(key, now);
        true
    }
}
