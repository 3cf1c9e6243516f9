//! What is known of one GPU, what is wanted from it, and what goes wrong with it.

use std::time::Instant;

use gpu_model::{GpuEvent, GpuUuid, ProbeReport, Reading};

use super::{Monitor, Phase};
use crate::breaker::Breaker;
use crate::wire::{Failure, Lane, Question};
use gpu_nvml::{Code, Reach};

/// MIG configuration changed, and GPU unavailable, as bits of an event (`nvml.h`): they change what is
/// there, not only how it is.
const CHANGES_FACTS: u64 = 0x100 | 0x4000;

/// The GPU at one index.
#[derive(Debug)]
pub(super) struct Slot {
    /// Its UUID, once it was told.
    pub(super) gpu: Option<GpuUuid>,
    pub(super) breaker: Breaker,
    /// Why the breaker is open.
    pub(super) trouble: String,
    pub(super) wants_facts: bool,
    pub(super) wants_reading: bool,
}

/// How a GPU was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ill {
    Unresponsive,
    Lost(u32),
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            gpu: None,
            breaker: Breaker::closed(),
            trouble: String::new(),
            wants_facts: false,
            wants_reading: false,
        }
    }
}

impl Slot {
    /// When it is to be tried again, if it hangs.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.breaker.retry_at()
    }

    /// Questions on their way are lost. The next child starts with fresh threads.
    pub(super) fn child_is_gone(&mut self, now: Instant) {
        self.breaker.hasten(now);
        self.wants_facts = false;
        self.wants_reading = false;
    }

    /// The next question, if one is wanted.
    fn next(&mut self, index: u32) -> Option<Question> {
        if std::mem::take(&mut self.wants_facts) {
            return Some(Question::Facts(index));
        }
        let gpu = self.gpu.clone()?;
        std::mem::take(&mut self.wants_reading).then_some(Question::Reading(index, gpu))
    }
}

impl Monitor {
    /// Read this GPU, now.
    pub(crate) fn read(&mut self, now: Instant, gpu: &GpuUuid) {
        let found = self
            .slots
            .iter_mut()
            .find(|(_, slot)| slot.gpu.as_ref() == Some(gpu));
        if let Some((&index, slot)) = found {
            slot.wants_reading = true;
            self.pump(now, index);
        }
    }

    /// Asks a GPU what is wanted from it next, unless it is being asked or does not answer.
    pub(super) fn pump(&mut self, now: Instant, index: u32) {
        let idle = matches!(self.phase, Phase::Up { .. })
            && self.stuck_since.is_none()
            && !self.questions.is_busy(Lane::Gpu(index));
        let Some(slot) = self.slots.get_mut(&index) else {
            return;
        };
        if idle
            && !slot.breaker.is_open()
            && let Some(question) = slot.next(index)
        {
            self.ask(now, false, question);
        }
    }

    /// Asks all GPUs what is wanted from them next.
    pub(super) fn pump_all(&mut self, now: Instant) {
        let indices: Vec<u32> = self.slots.keys().copied().collect();
        for index in indices {
            self.pump(now, index);
        }
    }

    /// Tries GPUs again that did not answer, each when its pause is over.
    pub(super) fn retry_gpus(&mut self, now: Instant) {
        if self.stuck_since.is_some() || !matches!(self.phase, Phase::Up { .. }) {
            return;
        }
        let due = |slot: &Slot| slot.retry_at().is_some_and(|at| now >= at);
        let indices: Vec<u32> = self
            .slots
            .iter()
            .filter(|(_, slot)| due(slot))
            .map(|(index, _)| *index)
            .collect();
        for index in indices {
            if let Some(slot) = self.slots.get_mut(&index) {
                // Until the answer or its deadline: then the pause is set again.
                slot.breaker.trip(now);
            }
            self.ask(now, true, Question::Facts(index));
        }
    }

    /// A GPU does not answer.
    pub(super) fn trip(&mut self, now: Instant, index: u32, trouble: String) {
        let Some(slot) = self.slots.get_mut(&index) else {
            return;
        };
        if !slot.breaker.is_open() {
            slot.breaker.trip(now);
        }
        slot.trouble.clone_from(&trouble);
        let gpu = slot.gpu.clone();
        self.scan_lost(now, index, &trouble);
        if let Some(gpu) = gpu
            && self.ill.insert(gpu.clone(), Ill::Unresponsive) != Some(Ill::Unresponsive)
        {
            self.report(ProbeReport::Unresponsive {
                gpu,
                detail: trouble,
            });
        }
    }

    /// An answer came from a GPU, good or bad: it does not hang.
    pub(super) fn untrip(&mut self, now: Instant, index: u32) {
        let closed = self
            .slots
            .get_mut(&index)
            .is_some_and(|slot| slot.breaker.close());
        if closed {
            self.start_round(now);
        }
    }

    /// A GPU answered well.
    pub(super) fn is_well(&mut self, gpu: &GpuUuid) {
        if self.ill.remove(gpu).is_some() {
            self.report(ProbeReport::Responsive(gpu.clone()));
        }
    }

    /// NVML says that a GPU fails.
    pub(super) fn fails(&mut self, gpu: &GpuUuid, code: u32) {
        if self.ill.insert(gpu.clone(), Ill::Lost(code)) != Some(Ill::Lost(code)) {
            self.report(ProbeReport::Lost {
                gpu: gpu.clone(),
                code,
            });
        }
    }

    pub(super) fn read_done(
        &mut self,
        now: Instant,
        gpu: &GpuUuid,
        reading: Result<Box<Reading>, Failure>,
    ) {
        match reading {
            Ok(reading) => {
                self.is_well(gpu);
                self.report(ProbeReport::Reading(gpu.clone(), reading));
            }
            Err(Failure::Fault { detail, code }) => match Code(code).reach() {
                Reach::Library => self.driver_is_gone(now, &detail),
                Reach::Gpu => self.fails(gpu, code),
                // The facts tell more, such as that there is no such GPU any more.
                Reach::Request | Reach::Absent => self.look_soon(now),
            },
            Err(Failure::Moved) => self.look_soon(now),
            Err(failure @ (Failure::Garbage(_) | Failure::Stuck)) => {
                tracing::debug!(%gpu, ?failure, "no reading");
            }
        }
    }

    /// The driver says that it does not work. What is wrong is what a new child finds when it opens it.
    pub(super) fn driver_is_gone(&mut self, now: Instant, detail: &str) {
        tracing::warn!(detail, "the GPU driver stopped working");
        self.down(now);
    }

    pub(super) fn event(&mut self, now: Instant, event: GpuEvent) {
        let (gpu, kind) = (event.gpu.clone(), event.kind);
        self.report(ProbeReport::Event(event));
        match gpu {
            Some(gpu) if kind & CHANGES_FACTS == 0 => self.read(now, &gpu),
            _ => self.start_round(now),
        }
    }

    /// Events of a GPU end; the next round asks for them again.
    pub(super) fn unwatched(&mut self, now: Instant, gpu: GpuUuid, failure: &Failure) {
        tracing::debug!(%gpu, ?failure, "no events");
        // A GPU that has no events will have none next time.
        if matches!(failure, Failure::Fault { code, .. } if Code(*code).reach() == Reach::Absent) {
            return;
        }
        if self.watched.remove(&gpu) {
            self.events_lost = true;
            self.read(now, &gpu);
        }
    }
}
