//! Scenes for tests: a pod and what the runtime shows of it, each in one line of text.
//!
//! Pod: `never grace=5 init:a side:b+startup main:c+gpu+pre`. Runtime: `s0 a.0=0 c.1` is a ready
//! sandbox, an init container that ended with 0, and a running second instance of `c`.
//! Actions read back as text too: `Create c.0 in s0`, `Stop c.0 by 30`.

mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::*;
use text::want;
pub(crate) use text::{exit, network, observation};

/// Everything a view borrows.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) want: Option<PodWant>,
    pub(crate) have: PodHave,
    pub(crate) memory: PodMemory,
    pub(crate) probes: BTreeMap<ContainerId, ProbeResults>,
    pub(crate) stop: Option<Stop>,
    pub(crate) running: BTreeSet<Action>,
    pub(crate) uid: PodUid,
    pub(crate) name: PodName,
}

pub(crate) const RULES: Rules = Rules {
    backoff_base: Duration::from_secs(10),
    backoff_cap: Duration::from_secs(300),
    device_wait: Duration::from_secs(180),
};

/// A moment, in seconds.
pub(crate) fn at(seconds: u64) -> Time {
    Time::default().plus(Duration::from_secs(seconds))
}

pub(crate) fn container(name: &str) -> ContainerName {
    ContainerName::new(name)
}

pub(crate) fn id(text: &str) -> ContainerId {
    ContainerId::new(text)
}

impl Scene {
    /// A new pod, nothing done yet, at time 0.
    pub(crate) fn pod(text: &str) -> Self {
        Self {
            want: Some(want(text)),
            have: PodHave::default(),
            memory: PodMemory::default(),
            probes: BTreeMap::new(),
            stop: None,
            running: BTreeSet::new(),
            uid: PodUid::new("uid"),
            name: PodName::new("default", "pod"),
        }
    }

    /// A pod whose host and devices are there, whose hooks are over, and of which the runtime shows
    /// this since time 0.
    pub(crate) fn running(pod: &str, runtime: &str) -> Self {
        let mut scene = Self::pod(pod);
        scene.see(0, runtime);
        scene.memory.host_prepared = true;
        scene.memory.devices = DeviceState::Held;
        let live = scene
            .have
            .containers
            .iter()
            .filter(|each| each.state.is_live());
        scene.memory.post_start = live.map(|each| (each.id.clone(), Ok(()))).collect();
        let ended = scene
            .have
            .containers
            .iter()
            .filter(|each| each.state == RunState::Exited);
        scene.memory.messages = ended.map(|each| (each.id.clone(), String::new())).collect();
        let dead = scene.have.sandboxes.iter().filter(|each| !each.ready);
        scene.memory.stopped = dead.map(|each| each.id.clone()).collect();
        scene
    }

    /// Merges a whole look.
    pub(crate) fn see(&mut self, seconds: u64, runtime: &str) {
        let seen = observation(seconds, runtime);
        observe(&mut self.have, &mut self.memory, &seen);
    }

    /// Asks the pod to stop.
    pub(crate) fn stop(&mut self, seconds: u64, grace: Option<u64>) {
        let newer = Stop {
            why: StopWhy::Removed,
            at: at(seconds),
            grace: grace.map(Duration::from_secs),
        };
        let manifest = self.want.as_ref().map_or(Duration::ZERO, |want| want.grace);
        self.stop = Some(self.stop.map_or(newer, |stop| stop.merged(newer, manifest)));
    }

    pub(crate) fn plan(&self, now: Time) -> Plan {
        let view = PodView {
            uid: &self.uid,
            name: &self.name,
            want: self.want.as_ref(),
            have: &self.have,
            memory: &self.memory,
            probes: &self.probes,
            stop: self.stop.as_ref(),
            running: &self.running,
            rules: &RULES,
        };
        let plan = decide(&view, now);
        assert_eq!(decide(&view, now), plan, "two decisions on one view");
        plan
    }

    /// The wave at this time, as text.
    pub(crate) fn wave(&self, seconds: u64) -> String {
        words(&self.plan(at(seconds)))
    }

    /// What the owner task does with a plan: keeps the end, marks what begins.
    pub(crate) fn begin(&mut self, seconds: u64) -> Plan {
        let plan = self.plan(at(seconds));
        self.memory.end = plan.end;
        for step in &plan.wave {
            if self.running.insert(step.action.clone()) {
                begin(&mut self.memory, &step.action);
            }
        }
        plan
    }

    /// Ends an action, given as text.
    pub(crate) fn end(&mut self, seconds: u64, action: &str, outcome: Outcome) {
        let known = self
            .running
            .iter()
            .chain([])
            .find(|each| word(each) == action)
            .cloned();
        let listed = || {
            self.plan(at(seconds))
                .wave
                .into_iter()
                .map(|step| step.action)
        };
        let action = known
            .or_else(|| listed().find(|each| word(each) == action))
            .unwrap_or_else(|| panic!("{action} is not in {}", self.wave(seconds)));
        self.running.remove(&action);
        record(
            &mut self.have,
            &mut self.memory,
            &action,
            outcome,
            at(seconds),
            &RULES,
        );
    }

    /// Lets everything succeed, wave by wave, until nothing is left to do.
    pub(crate) fn play(&mut self, seconds: u64) -> String {
        let mut waves = Vec::new();
        loop {
            let plan = self.begin(seconds);
            if plan.wave.is_empty() {
                return waves.join(" | ");
            }
            assert!(waves.len() < 50, "no end: {waves:#?}");
            waves.push(words(&plan));
            for step in plan.wave {
                self.running.remove(&step.action);
                let outcome = self.success(seconds, &step.action);
                let now = at(seconds);
                record(
                    &mut self.have,
                    &mut self.memory,
                    &step.action,
                    outcome,
                    now,
                    &RULES,
                );
            }
            // The runtime's events bring network and exit details at once.
            for sandbox in self.have.sandboxes.iter_mut().filter(|each| each.ready) {
                sandbox.network.get_or_insert(network());
            }
            for container in &mut self.have.containers {
                if container.state == RunState::Exited {
                    container.exit.get_or_insert(exit(seconds, 0));
                }
            }
        }
    }

    fn success(&self, seconds: u64, action: &Action) -> Outcome {
        match action {
            Action::HoldDevices => Outcome::Devices(DeviceState::Held),
            Action::PrepareHost | Action::RefreshVolumes => Outcome::Prepared { refresh_at: None },
            Action::EnsureImage { .. } => Outcome::Image("image".into()),
            Action::CreateSandbox { attempt } => {
                Outcome::Sandbox(SandboxId::new(format!("s{attempt}")))
            }
            Action::CreateContainer {
                container, attempt, ..
            } => Outcome::Container(id(&format!("{container}.{attempt}"))),
            Action::ReadTermination { .. } => Outcome::Text(String::new()),
            Action::InspectPod => Outcome::Observed(Box::new(Observation {
                have: self.have.clone(),
                whole: false,
                ..observation(seconds, "")
            })),
            _ => Outcome::Done,
        }
    }

    pub(crate) fn status(&self, seconds: u64) -> PodStatus {
        self.plan(at(seconds)).status
    }
}

/// A wave as text.
pub(crate) fn words(plan: &Plan) -> String {
    let words: Vec<_> = plan.wave.iter().map(|step| word(&step.action)).collect();
    words.join(", ")
}

fn word(action: &Action) -> String {
    let by = |time: &Time| time.since(Time::default()).as_secs();
    match action {
        Action::HoldDevices => "Hold".into(),
        Action::PrepareHost => "Prepare".into(),
        Action::RefreshVolumes => "Refresh".into(),
        Action::EnsureImage { container } => format!("Image {container}"),
        Action::CreateSandbox { attempt } => format!("Sandbox {attempt}"),
        Action::CreateContainer {
            container,
            attempt,
            sandbox,
        } => {
            format!("Create {container}.{attempt} in {sandbox}")
        }
        Action::StartContainer { id, .. } => format!("Start {id}"),
        Action::PostStart { id, .. } => format!("PostStart {id}"),
        Action::PreStop { id, deadline, .. } => format!("PreStop {id} by {}", by(deadline)),
        Action::StopContainer { id, deadline, .. } => format!("Stop {id} by {}", by(deadline)),
        Action::RemoveContainer { id, .. } => format!("Remove {id}"),
        Action::ClearContainer { id, .. } => format!("Clear {id}"),
        Action::StopSandbox { id } => format!("StopSandbox {id}"),
        Action::RemoveSandbox { id } => format!("RemoveSandbox {id}"),
        Action::CleanHost => "Clean".into(),
        Action::ReleaseDevices => "Release".into(),
        Action::RemoveLogs => "RemoveLogs".into(),
        Action::InspectPod => "Inspect".into(),
        Action::ReadTermination { id, .. } => format!("Read {id}"),
    }
}
