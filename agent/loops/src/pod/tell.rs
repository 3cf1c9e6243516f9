//! Events about a pod that come from the plan, in the stock kubelet's words.

use agent_core::{Action, ContainerName, ContainerState, ContainerStatus, PodStatus, Step, Why};

use super::PodTask;
use crate::events::{EventKind, Subject};
use crate::snapshot::PodSnapshot;

/// Reason of a pod that ran longer than it may, and of its event (Kubernetes 1.37).
const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";

impl PodTask {
    /// A step begins.
    pub(super) fn tell_step(&self, step: &Step) {
        let events = &self.around.events;
        match (&step.action, &step.why) {
            (
                Action::PreStop { container, id, .. } | Action::StopContainer { container, id, .. },
                why,
            ) if !self.memory.stopping.contains_key(id) => {
                events.normal(
                    self.container(container),
                    "Killing",
                    killing(container, why),
                );
            }
            (Action::CreateSandbox { .. }, Why::SandboxBroken { what }) => {
                let text = "Pod sandbox changed, it will be killed and re-created.".to_owned();
                let why = Some((*what).to_owned());
                events.record(EventKind::Normal, self.pod(), "SandboxChanged", text, why);
            }
            _ => {}
        }
    }

    /// The pod shows something new.
    pub(super) fn tell_change(&self, old: Option<&PodSnapshot>, new: &PodSnapshot) {
        let old = old.map(|old| &old.status);
        for container in new.status.all() {
            let before = old.and_then(|old| find(old, &container.name));
            if waiting(container) != before.and_then(waiting) {
                self.tell_waiting(container);
            }
        }
        self.tell_deadline(old, &new.status);
        let phase = new.status.phase;
        if old.is_none_or(|old| old.phase != phase) {
            let reason = &new.status.reason;
            tracing::info!(pod = %self.name, uid = %self.uid, ?phase, reason, "pod changed phase");
        }
    }

    /// Once: a pod that the API already knows to be over was told by whoever ended it.
    fn tell_deadline(&self, old: Option<&PodStatus>, new: &PodStatus) {
        let is_passed = |status: &PodStatus| status.reason == DEADLINE_EXCEEDED;
        let over = self
            .want
            .as_ref()
            .is_some_and(|want| want.want.over.is_some());
        if is_passed(new) && !over && !old.is_some_and(is_passed) {
            let text = new.message.clone();
            self.around
                .events
                .normal(self.pod(), DEADLINE_EXCEEDED, text);
        }
    }

    fn tell_waiting(&self, container: &ContainerStatus) {
        let ContainerState::Waiting { reason, message } = &container.state else {
            return;
        };
        let (events, about) = (&self.around.events, self.container(&container.name));
        match reason.as_str() {
            "CrashLoopBackOff" => {
                let text = format!(
                    "Back-off restarting failed container {} in pod {}_{}({})",
                    container.name, self.name.name, self.name.namespace, self.uid
                );
                events.warning(about, "BackOff", text);
            }
            "ImagePullBackOff" => {
                // The event leaves out the cause, which the pull has told (Kubernetes 1.37).
                let text = match message.split_once("\": ") {
                    Some((text, _)) => format!("{text}\""),
                    None => message.clone(),
                };
                events.normal(about.clone(), "BackOff", text);
                events.warning(about, "Failed", "Error: ImagePullBackOff");
            }
            _ => {}
        }
    }

    fn pod(&self) -> Subject {
        Subject::Pod {
            uid: self.uid.clone(),
            name: self.name.clone(),
        }
    }

    fn container(&self, container: &ContainerName) -> Subject {
        let (uid, name) = (self.uid.clone(), self.name.clone());
        Subject::Container {
            uid,
            name,
            container: container.clone(),
        }
    }
}

fn find<'a>(status: &'a PodStatus, name: &ContainerName) -> Option<&'a ContainerStatus> {
    status
        .init
        .iter()
        .chain(&status.containers)
        .find(|each| each.name == *name)
}

fn waiting(container: &ContainerStatus) -> Option<&str> {
    match &container.state {
        ContainerState::Waiting { reason, .. } => Some(reason),
        ContainerState::Running { .. } | ContainerState::Terminated(_) => None,
    }
}

fn killing(container: &ContainerName, why: &Why) -> String {
    match why {
        Why::LivenessFailed => {
            format!("Container {container} failed liveness probe, will be restarted")
        }
        Why::StartupFailed => {
            format!("Container {container} failed startup probe, will be restarted")
        }
        Why::DefinitionChanged => {
            format!("Container {container} definition changed, will be restarted")
        }
        Why::PostStartFailed => "FailedPostStartHook".to_owned(),
        _ => format!("Stopping container {container}"),
    }
}
