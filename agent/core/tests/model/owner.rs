//! The owner task, and what may happen to it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use agent_core::{
    Action, ContainerId, Fail, Life, Observation, Outcome, Phase, Plan, PodHave, PodMemory,
    PodName, PodUid, PodView, PodWant, ProbeResults, Rules, Stop, StopWhy, Time, begin, decide,
    observe, record,
};

use super::runtime::{Runtime, State};

const RULES: Rules = Rules {
    backoff_base: Duration::from_secs(10),
    backoff_cap: Duration::from_secs(300),
    device_wait: Duration::from_secs(180),
};

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// An action in flight ends as it should.
    Finish(usize),
    /// It has its effect, but the answer is lost.
    FinishUnheard(usize),
    /// It fails without effect; for good or not.
    Fail(usize, bool),
    /// A running container ends by itself.
    Exit(usize, i32),
    /// The newest sandbox dies.
    SandboxDies,
    /// Somebody removes a container behind the agent's back.
    Vanish(usize),
    /// The runtime takes note of a change; it is delivered later, perhaps never. With details or not.
    Note(bool),
    /// One of the notes is delivered, not in order, and perhaps again later.
    Deliver(usize),
    /// A whole look.
    Look(bool),
    /// A probe has a verdict.
    Probe(usize, bool),
    /// Time passes.
    Pass(u64),
    /// The agent is killed; of the actions in flight these have their effect.
    Crash(u8),
    /// The pod is to stop, with this grace period if any.
    Stop(Option<u64>),
    /// Devices are taken or given back by others.
    Devices(bool),
}

/// Everything on the node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) runtime: Runtime,
    pub(crate) want: PodWant,
    pub(crate) now: Time,
    pub(crate) stop: Option<Stop>,
    have: PodHave,
    memory: PodMemory,
    probes: BTreeMap<ContainerId, ProbeResults>,
    running: BTreeSet<Action>,
    notes: VecDeque<Observation>,
    /// Deadlines promised in this life of the agent.
    promised: BTreeMap<ContainerId, Time>,
    vanished: bool,
    /// Terminal phase shown in this life of the agent.
    terminal: Option<Phase>,
    /// The same of an earlier life: a first look without exit codes does not tell it at once.
    pub(crate) terminal_before: Option<Phase>,
}

impl Node {
    pub(crate) fn new(want: PodWant) -> Self {
        let now = Time::default().plus(Duration::from_secs(1000));
        Self {
            runtime: Runtime::new(),
            want,
            now,
            stop: None,
            have: PodHave::default(),
            memory: PodMemory::adopt(&PodHave::default(), now),
            probes: BTreeMap::new(),
            running: BTreeSet::new(),
            notes: VecDeque::new(),
            promised: BTreeMap::new(),
            vanished: false,
            terminal: None,
            terminal_before: None,
        }
    }

    pub(crate) fn take(&mut self, step: &Step) {
        self.now = self.now.plus(Duration::from_millis(1));
        match step {
            Step::Finish(at) => self.finish(*at),
            Step::FinishUnheard(at) => self.finish_unheard(*at),
            Step::Fail(at, permanent) => {
                let fail = if *permanent {
                    Fail::permanent("Bad", "bad")
                } else {
                    Fail::retry("Busy", "busy")
                };
                if let Some(action) = self.in_flight(*at) {
                    self.recorded(&action, Outcome::Failed(fail));
                }
            }
            Step::Exit(at, code) => self.exit(*at, *code),
            Step::SandboxDies => {
                if let Some(id) = self.runtime.sandboxes.last().map(|each| each.id.clone()) {
                    self.runtime.stop_sandbox(&id, self.now);
                }
            }
            Step::Vanish(at) => {
                if *at < self.runtime.containers.len() {
                    self.runtime.containers.remove(*at);
                }
                // What has vanished cannot be found again after a crash.
                self.vanished = true;
                self.terminal_before = None;
            }
            Step::Note(details) => {
                self.notes
                    .push_back(self.runtime.look(self.now, *details, false));
            }
            Step::Deliver(at) => {
                if let Some(note) = self.notes.get(*at).cloned() {
                    observe(&mut self.have, &mut self.memory, &note);
                }
            }
            Step::Look(details) => self.look(*details),
            Step::Probe(at, verdict) => self.probe(*at, *verdict),
            Step::Pass(seconds) => self.now = self.now.plus(Duration::from_secs(*seconds)),
            Step::Crash(effects) => self.crash(*effects),
            Step::Stop(grace) => {
                // A pod may be removed before an agent that was started anew knows how it ended.
                self.terminal_before = None;
                let grace = grace.map(Duration::from_secs);
                let newer = Stop {
                    why: StopWhy::Removed,
                    at: self.now,
                    grace,
                };
                self.stop = Some(
                    self.stop
                        .map_or(newer, |old| old.merged(newer, self.want.grace)),
                );
            }
            Step::Devices(free) => {
                self.runtime.devices_free = *free;
                self.memory.devices_changed = true;
            }
        }
        self.follow();
    }

    pub(crate) fn look(&mut self, details: bool) {
        let seen = self.runtime.look(self.now, details, true);
        observe(&mut self.have, &mut self.memory, &seen);
    }

    fn in_flight(&self, at: usize) -> Option<Action> {
        let count = self.running.len();
        self.running
            .iter()
            .nth(if count == 0 { 0 } else { at % count })
            .cloned()
    }

    fn finish(&mut self, at: usize) {
        if let Some(action) = self.in_flight(at) {
            let outcome = self.runtime.act(&action, self.now);
            self.recorded(&action, outcome);
        }
    }

    fn finish_unheard(&mut self, at: usize) {
        if let Some(action) = self.in_flight(at) {
            let _unheard = self.runtime.act(&action, self.now);
            let lost = Fail::retry("Timeout", "no answer");
            self.recorded(&action, Outcome::Failed(lost));
        }
    }

    fn exit(&mut self, at: usize, code: i32) {
        let now = self.now;
        let live = self.runtime.containers.iter_mut();
        let mut live = live.filter(|each| each.state == State::Running);
        if let Some(container) = live.nth(at) {
            container.end(code, now);
        }
    }

    fn recorded(&mut self, action: &Action, outcome: Outcome) {
        self.running.remove(action);
        record(
            &mut self.have,
            &mut self.memory,
            action,
            outcome,
            self.now,
            &RULES,
        );
    }

    fn probe(&mut self, at: usize, verdict: bool) {
        let plan = self.plan();
        let Some(probing) = plan.probing.get(at % plan.probing.len().max(1)) else {
            return;
        };
        let results = self.probes.entry(probing.id.clone()).or_default();
        match probing.kind {
            agent_core::ProbeKind::Startup => results.startup = Some(verdict),
            agent_core::ProbeKind::Liveness => results.liveness = Some(verdict),
            agent_core::ProbeKind::Readiness => results.readiness = Some(verdict),
        }
    }

    fn crash(&mut self, effects: u8) {
        for (at, action) in std::mem::take(&mut self.running).iter().enumerate() {
            if effects >> (at % 8) & 1 == 1 {
                let _unheard = self.runtime.act(action, self.now);
            }
        }
        let seen = self.runtime.look(self.now, false, true);
        self.memory = PodMemory::adopt(&seen.have, self.now);
        self.have = seen.have;
        self.probes.clear();
        self.notes.clear();
        self.promised.clear();
        self.terminal_before = self.terminal.take().or(self.terminal_before);
        // Then what the phase is told from is gone; a deadline counts from the oldest sandbox again.
        if self.stop.is_some() || self.vanished || self.want.active_deadline.is_some() {
            self.terminal_before = None;
        }
    }

    pub(crate) fn plan(&self) -> Plan {
        let (uid, name) = (PodUid::new("uid"), PodName::new("default", "pod"));
        let view = PodView {
            uid: &uid,
            name: &name,
            want: Some(&self.want),
            have: &self.have,
            memory: &self.memory,
            probes: &self.probes,
            stop: self.stop.as_ref(),
            running: &self.running,
            rules: &RULES,
        };
        let plan = decide(&view, self.now);
        assert_eq!(
            plan,
            decide(&view, self.now),
            "two decisions on one view differ"
        );
        plan
    }

    /// Makes the actions in flight equal to the newest plan.
    fn follow(&mut self) {
        let plan = self.plan();
        self.memory.end = plan.end;
        self.check(&plan);
        let listed: BTreeSet<&Action> = plan.wave.iter().map(|step| &step.action).collect();
        self.running
            .retain(|action| listed.contains(action) || !action.cancel_safe());
        for step in &plan.wave {
            if self.running.insert(step.action.clone()) {
                self.check_begin(&step.action);
                begin(&mut self.memory, &step.action);
            }
        }
    }

    fn check(&mut self, plan: &Plan) {
        let phase = plan.status.phase;
        if let Some(terminal) = self.terminal {
            assert_eq!(
                phase, terminal,
                "a terminal phase changed, {:#?}",
                plan.status
            );
        }
        if matches!(phase, Phase::Succeeded | Phase::Failed) {
            assert_eq!(
                phase,
                self.terminal_before.unwrap_or(phase),
                "terminal phase before a crash"
            );
            self.terminal = Some(phase);
        }
        if let Some(wake) = plan.wake {
            assert!(
                wake > self.now,
                "a wake that is over: {wake:?} at {:?}\n{plan:#?}",
                self.now
            );
        }
        if plan.life == Life::Done && self.running.is_empty() {
            assert!(self.runtime.is_empty(), "done, {:#?} is left", self.runtime);
            assert!(!self.runtime.devices_held, "done, devices still held");
            assert!(
                !self.runtime.host_dirty && !self.runtime.logs,
                "done, host still dirty"
            );
        }
    }

    fn check_begin(&mut self, action: &Action) {
        let (Action::PreStop { id, deadline, .. } | Action::StopContainer { id, deadline, .. }) =
            action
        else {
            if *action == Action::ReleaseDevices {
                assert_eq!(
                    self.runtime.live(),
                    0,
                    "devices given back under a running container"
                );
            }
            return;
        };
        let promised = self.promised.entry(id.clone()).or_insert(*deadline);
        assert!(*deadline <= *promised, "the grace period of {id} grew");
        *promised = *deadline;
    }

    /// Nothing goes wrong any more, and run-once containers end well, until nothing is left to do.
    pub(crate) fn calm(&mut self) -> Plan {
        self.runtime.devices_free = true;
        self.memory.devices_changed = true;
        for _round in 0..400 {
            self.now = self.now.plus(Duration::from_millis(1));
            self.follow();
            if !self.running.is_empty() {
                self.finish(0);
                continue;
            }
            let init: BTreeSet<_> = self
                .want
                .init
                .iter()
                .filter(|each| !each.is_sidecar())
                .collect_names();
            let now = self.now;
            for container in self.runtime.containers.iter_mut() {
                if init.contains(&container.name) {
                    container.end(0, now);
                }
            }
            self.probes.clear();
            let live: Vec<_> = self
                .runtime
                .containers
                .iter()
                .map(|each| each.id.clone())
                .collect();
            let good = Some(true);
            for id in live {
                self.probes.insert(
                    id,
                    ProbeResults {
                        startup: good,
                        liveness: good,
                        readiness: good,
                    },
                );
            }
            self.look(true);
            let plan = self.plan();
            if plan.wave.is_empty() {
                match plan.wake {
                    None => return plan,
                    Some(wake) => self.now = wake,
                }
            }
        }
        panic!("never calm\n{:#?}", self.plan());
    }
}

trait Names {
    fn collect_names(self) -> BTreeSet<agent_core::ContainerName>;
}

impl<'a, I: Iterator<Item = &'a agent_core::ContainerWant>> Names for I {
    fn collect_names(self) -> BTreeSet<agent_core::ContainerName> {
        self.map(|each| each.name.clone()).collect()
    }
}
