//! A plan in the making.

use std::time::Duration;

use crate::have::RunState;
use crate::ids::ContainerName;
use crate::memory::PodEnd;
use crate::plan::{Action, Life, Plan, Probing, Step, Why};
use crate::status::PodStatus;
use crate::time::Time;
use crate::view::PodView;
use crate::want::PodWant;

/// How long a runtime event may take to bring the network of a new sandbox or the exit code of an
/// ended container before they are asked for. Events come with the answer to the call, so where they
/// work no call is spent.
const DETAILS_WAIT: Duration = Duration::from_millis(100);

/// What has been listed so far, beside what it is decided from.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) view: &'a PodView<'a>,
    pub(super) now: Time,
    wave: Vec<Step>,
    probing: Vec<Probing>,
    wake: Option<Time>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(view: &'a PodView<'a>, now: Time) -> Self {
        Self {
            view,
            now,
            wave: Vec::new(),
            probing: Vec::new(),
            wake: None,
        }
    }

    /// Lists an action, once, unless it has failed and may not be tried again yet.
    pub(super) fn list(&mut self, action: Action, why: Why) {
        if self.wave.iter().any(|step| step.action == action) {
            return;
        }
        let failure = self.view.memory.failures.get(&action);
        match failure {
            Some(failure)
                if failure.retry_at > self.now && !self.view.running.contains(&action) =>
            {
                self.wake_at(failure.retry_at);
            }
            _ => self.wave.push(Step { action, why }),
        }
    }

    /// Wants a probe to run.
    pub(super) fn probe(&mut self, probing: Probing) {
        self.probing.push(probing);
    }

    /// Asks to be called again at this time; the earliest wins. What is over is in this plan already.
    pub(super) fn wake_at(&mut self, time: Time) {
        if time > self.now {
            self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
        }
    }

    /// Something is being made or taken hold of, so that nothing may be given back yet.
    pub(super) fn is_making(&self) -> bool {
        self.view.running.iter().any(|action| {
            action.is_making() || matches!(action, Action::HoldDevices | Action::PrepareHost)
        })
    }

    /// Something that makes has failed since the runtime was last looked at: a look tells whether it
    /// made it all the same.
    pub(super) fn inspect_failures(&mut self) -> bool {
        let memory = self.view.memory;
        let unsure = memory
            .failures
            .iter()
            .any(|(action, failure)| action.is_making() && failure.at > memory.whole_at);
        if unsure {
            self.list(Action::InspectPod, Why::DetailsMissing);
        }
        unsure
    }

    /// Details are missing since then: gives a runtime event time to bring them, then asks.
    pub(super) fn await_details(&mut self, since: Option<Time>) {
        let ask_at = since.map_or(self.now, |since| since.plus(DETAILS_WAIT));
        if ask_at > self.now {
            self.wake_at(ask_at);
        } else {
            self.list(Action::InspectPod, Why::DetailsMissing);
        }
    }

    /// Awaits the exit codes of containers that have ended. True when there are any to await.
    pub(super) fn await_exits(&mut self, want: &PodWant) -> bool {
        let view = self.view;
        let mut any = false;
        for each in &view.have.containers {
            let named = want.all().any(|known| known.name == each.name);
            if named && each.state == RunState::Exited && each.exit.is_none() {
                self.await_details(view.memory.ended.get(&each.id).copied());
                any = true;
            }
        }
        any
    }

    /// The creation or start of this container that is in flight: one thing at a time.
    pub(super) fn making(&self, name: &ContainerName) -> Option<&'a Action> {
        self.view.running.iter().find(|action| match action {
            Action::CreateContainer { container, .. }
            | Action::StartContainer { container, .. } => container == name,
            _ => false,
        })
    }

    pub(super) fn into_plan(self, life: Life, end: Option<PodEnd>, status: PodStatus) -> Plan {
        let Self {
            wave,
            probing,
            wake,
            ..
        } = self;
        Plan {
            life,
            wave,
            probing,
            end,
            wake,
            status,
        }
    }
}
