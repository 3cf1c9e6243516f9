//! A round: how many GPUs there are, the facts of each, how they are wired, then a reading of each.

use std::collections::BTreeSet;
use std::time::Instant;

use gpu_model::{DriverFacts, DriverState, GpuFacts, MachineFacts, ProbeReport, TopologyLevel};
use gpu_nvml::{Code, Reach};

use super::scan::Scan;
use super::{Effect, Monitor, POLL, Phase, SETTLING_POLL};
use crate::wire::{Failure, Lane, Question, ToChild};

/// How far a round is.
#[derive(Debug)]
pub(super) enum Round {
    Idle,
    /// Waiting for the number of GPUs.
    Counting,
    /// Waiting for the facts of each.
    Asking(Scan),
    /// Waiting for the levels between them; everything else is known.
    Levelling(MachineFacts, Told),
    /// Other GPUs are there than before. Waiting for the number again: a GPU that came or went between
    /// the first count and the last facts would have shifted the others.
    Confirming(MachineFacts, Told),
}

/// Number of GPUs as the driver told it.
type Told = u32;

/// Times that a round begins again because the number of GPUs has changed meanwhile. A driver that tells
/// another one each time is believed in the end: the next round will look again.
const MAX_RECOUNTS: u32 = 2;

impl Monitor {
    /// Begins a round, or another one after the one there is.
    pub(super) fn start_round(&mut self, now: Instant) {
        if !matches!(self.phase, Phase::Up { .. }) || self.stuck_since.is_some() {
            return;
        }
        if !matches!(self.round, Round::Idle) {
            self.again = true;
            return;
        }
        self.round = Round::Counting;
        // One may be on its way to find out whether the library works: its answer serves both.
        if !self.questions.is_busy(Lane::Library) {
            self.ask(now, false, Question::Count);
        }
    }

    pub(super) fn counted(&mut self, now: Instant, driver: DriverFacts, told: u32) {
        if self.driver != DriverState::Ready {
            self.machine = None;
            self.report_driver(DriverState::Ready);
        }
        if std::mem::take(&mut self.events_lost) {
            self.report(ProbeReport::Missed);
        }
        match std::mem::replace(&mut self.round, Round::Idle) {
            Round::Counting => self.scan(now, driver, told),
            Round::Confirming(machine, before) if before == told => self.finish_round(now, machine),
            Round::Confirming(..) if self.recounts < MAX_RECOUNTS => {
                self.recounts += 1;
                self.scan(now, driver, told);
            }
            Round::Confirming(machine, _) => self.finish_round(now, machine),
            // It was asked for to find out whether the library works.
            other => self.round = other,
        }
    }

    fn scan(&mut self, now: Instant, driver: DriverFacts, told: Told) {
        let mut scan = Scan::new(driver, told);
        self.slots.retain(|index, _| *index < scan.count());
        for index in 0..scan.count() {
            let slot = self.slots.entry(index).or_default();
            if slot.breaker.is_open() {
                scan.failed(index, slot.trouble.clone(), None);
            } else {
                slot.wants_facts = true;
                scan.wait_for(index);
            }
        }
        self.round = Round::Asking(scan);
        self.pump_all(now);
        self.check_scan(now);
    }

    /// The driver cannot even count: it does not work.
    pub(super) fn count_failed(&mut self, now: Instant, failure: Failure) {
        match failure {
            Failure::Fault { detail, code } if Code(code).reach() == Reach::Library => {
                self.driver_is_gone(now, &detail);
            }
            Failure::Fault { detail, code } => {
                self.report_driver(DriverState::Broken { code, detail });
                self.down(now);
                self.forget_gpus();
            }
            other => tracing::debug!(?other, "no count"),
        }
    }

    pub(super) fn facts_done(
        &mut self,
        now: Instant,
        index: u32,
        facts: Result<GpuFacts, Failure>,
    ) {
        let failure = match facts {
            Ok(facts) => {
                if let Round::Asking(scan) = &mut self.round {
                    scan.found(index, facts);
                }
                return self.check_scan(now);
            }
            Err(failure) => failure,
        };
        let (detail, code) = match failure {
            Failure::Fault { detail, code } => (detail, Some(code)),
            Failure::Garbage(detail) => (detail, None),
            Failure::Moved | Failure::Stuck => (format!("{failure:?}"), None),
        };
        match code.map(|code| (code, Code(code).reach())) {
            Some((_, Reach::Library)) => return self.driver_is_gone(now, &detail),
            Some((code, Reach::Gpu)) => {
                if let Some(gpu) = self.slots.get(&index).and_then(|slot| slot.gpu.clone()) {
                    self.fails(&gpu, code);
                }
            }
            _ => {}
        }
        if let Round::Asking(scan) = &mut self.round {
            scan.failed(index, detail, code);
        }
        self.check_scan(now);
    }

    /// A GPU does not answer: the round goes on without it.
    pub(super) fn scan_lost(&mut self, now: Instant, index: u32, trouble: &str) {
        if let Round::Asking(scan) = &mut self.round
            && scan.waits_for(index)
        {
            scan.failed(index, trouble.to_owned(), None);
            self.check_scan(now);
        }
    }

    /// Goes on when no GPU is waited for any more.
    fn check_scan(&mut self, now: Instant) {
        let Round::Asking(scan) = &mut self.round else {
            return;
        };
        if !scan.is_complete() {
            return;
        }
        let slots = &self.slots;
        let machine = scan.assemble(|index| slots.get(&index).and_then(|slot| slot.gpu.clone()));
        let gpus: Vec<_> = machine.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
        let indices: Vec<_> = machine.gpus.iter().map(|gpu| gpu.index).collect();
        self.round = Round::Levelling(machine, scan.told());
        if gpus.len() < 2 || gpus == self.levels.0 {
            let known = self.levels.1.clone();
            self.levels_done(now, Some(known));
        } else if self.questions.is_busy(Lane::Pairs) {
            self.levels_done(now, None);
        } else {
            self.ask(now, false, Question::Levels(indices));
        }
    }

    /// The levels are there, or will not come this time.
    pub(super) fn levels_done(&mut self, now: Instant, levels: Option<Vec<Vec<TopologyLevel>>>) {
        let Round::Levelling(machine, told) = &mut self.round else {
            return;
        };
        let (mut machine, told) = (std::mem::take(machine), *told);
        let size = machine.gpus.len();
        let fits = |levels: &Vec<Vec<TopologyLevel>>| {
            levels.len() == size && levels.iter().all(|row| row.len() == size)
        };
        if let Some(levels) = levels.filter(fits) {
            self.levels = (
                machine.gpus.iter().map(|gpu| gpu.uuid.clone()).collect(),
                levels.clone(),
            );
            machine.levels = levels;
        } else {
            machine.levels = vec![vec![TopologyLevel::System; size]; size];
        }
        if self
            .machine
            .as_ref()
            .is_some_and(|known| same_gpus(known, &machine))
        {
            return self.finish_round(now, machine);
        }
        self.round = Round::Confirming(machine, told);
        if !self.questions.is_busy(Lane::Library) {
            self.ask(now, false, Question::Count);
        }
    }

    fn finish_round(&mut self, now: Instant, machine: MachineFacts) {
        self.round = Round::Idle;
        self.recounts = 0;
        for slot in self.slots.values_mut() {
            slot.gpu
                .take_if(|gpu| machine.gpus.iter().any(|found| found.uuid == *gpu));
        }
        for gpu in &machine.gpus {
            if let Some(slot) = self.slots.get_mut(&gpu.index) {
                slot.gpu = Some(gpu.uuid.clone());
                slot.wants_reading = true;
            }
        }
        self.watch(&machine);
        let settling = |gpu: &GpuFacts| gpu.fabric.as_ref().is_some_and(|fabric| !fabric.complete);
        let poll = if machine.gpus.iter().any(settling) {
            SETTLING_POLL
        } else {
            POLL
        };
        self.next_round = now + poll;
        let well: Vec<_> = machine.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
        if self.machine.as_ref() != Some(&machine) {
            self.machine = Some(machine.clone());
            self.report(ProbeReport::Machine(Box::new(machine)));
        }
        for gpu in &well {
            self.is_well(gpu);
        }
        self.pump_all(now);
        self.round_again(now);
    }

    /// Relays the events of the GPUs there are, and of no others.
    fn watch(&mut self, machine: &MachineFacts) {
        for gpu in &machine.gpus {
            if self.watched.insert(gpu.uuid.clone()) {
                let watch = ToChild::Watch {
                    index: gpu.index,
                    gpu: gpu.uuid.clone(),
                };
                self.effects.push(Effect::Send(watch));
            }
        }
        let silent = machine
            .silent
            .iter()
            .filter_map(|silent| silent.uuid.as_ref());
        let there: BTreeSet<_> = machine
            .gpus
            .iter()
            .map(|gpu| &gpu.uuid)
            .chain(silent)
            .collect();
        let gone = self
            .watched
            .extract_if(.., |gpu| !there.contains(gpu))
            .collect::<Vec<_>>();
        self.effects.extend(
            gone.into_iter()
                .map(|gpu| Effect::Send(ToChild::Unwatch(gpu))),
        );
        self.ill.retain(|gpu, _| there.contains(gpu));
    }

    fn round_again(&mut self, now: Instant) {
        if std::mem::take(&mut self.again) {
            self.start_round(now);
        }
    }
}

fn same_gpus(one: &MachineFacts, other: &MachineFacts) -> bool {
    one.gpus
        .iter()
        .map(|gpu| &gpu.uuid)
        .eq(other.gpus.iter().map(|gpu| &gpu.uuid))
}
