//! The status of a pod, rendered from the view.
//!
//! Phases, reasons and texts are those of the Kubernetes 1.37 kubelet.

mod container;
mod phase;

use crate::end::pod_end;
use crate::gates::is_started;
use crate::have::RunState;
use crate::instances::newest;
use crate::memory::DeviceState;
use crate::plan::{Action, StopWhy};
use crate::status::{ContainerState, ContainerStatus, Phase, PodStatus};
use crate::time::Time;
use crate::view::PodView;
use crate::want::PodWant;

/// The pod's status at this time.
pub fn render(view: &PodView<'_>, now: Time) -> PodStatus {
    let (init, containers) = match view.want {
        Some(want) => (
            want.init
                .iter()
                .map(|each| container::wanted(view, want, each, now))
                .collect(),
            want.containers
                .iter()
                .map(|each| container::wanted(view, want, each, now))
                .collect(),
        ),
        None => (Vec::new(), container::unnamed(view)),
    };
    let initialized = view
        .want
        .is_none_or(|want| is_initialized(view, want, &init, &containers));
    let ephemeral = view
        .want
        .into_iter()
        .flat_map(|want| {
            want.ephemeral
                .iter()
                .map(move |each| container::wanted(view, want, each, now))
        })
        .collect();
    let (phase, reason, message) = condition(view, &init, &containers, now);
    let all_ready = view.want.is_some_and(|want| {
        let sidecars = init
            .iter()
            .zip(&want.init)
            .filter(|(_, each)| each.is_sidecar());
        sidecars
            .map(|(status, _)| status)
            .chain(&containers)
            .all(|status| status.ready)
    });
    PodStatus {
        phase,
        reason,
        message,
        ready: phase == Phase::Running && all_ready && initialized,
        initialized,
        ips: ips(view),
        started_at: view.memory.seen_at,
        init,
        containers,
        ephemeral,
        sandbox_ready: sandbox_ready(view),
        restarting_all: view
            .want
            .is_some_and(|want| crate::decide::restarts_all(view, want)),
        ending: view.stop.is_some() || pod_end(view, now).is_some(),
    }
}

/// Phase, reason and message.
fn condition(
    view: &PodView<'_>,
    init: &[ContainerStatus],
    containers: &[ContainerStatus],
    now: Time,
) -> (Phase, String, String) {
    if let Some(over) = view.want.and_then(|want| want.over.as_ref()) {
        let phase = if over.well {
            Phase::Succeeded
        } else {
            Phase::Failed
        };
        return (phase, over.reason.clone(), over.message.clone());
    }
    let end = pod_end(view, now).map(|end| end.why);
    let (reason, message) = match end {
        Some(StopWhy::DeadlineExceeded) => (
            "DeadlineExceeded".to_owned(),
            "Pod was active on the node longer than the specified deadline".to_owned(),
        ),
        Some(StopWhy::Refused) => {
            let (reason, message) = refusal_words(view);
            (reason, format!("Pod was rejected: {message}"))
        }
        _ => {
            let phase = phase::phase(view, init, containers, end == Some(StopWhy::Finished));
            let (reason, message) = if phase == Phase::Pending {
                obstacle(view)
            } else {
                Default::default()
            };
            return (phase, reason, message);
        }
    };
    (Phase::Failed, reason, message)
}

/// What a pod that has not begun waits for.
fn obstacle(view: &PodView<'_>) -> (String, String) {
    if let Some(words) = device_words(view) {
        return words;
    }
    let pod_level = view.memory.failures.iter().find(|(action, _)| {
        matches!(
            action,
            Action::HoldDevices | Action::PrepareHost | Action::CreateSandbox { .. }
        )
    });
    pod_level
        .map(|(_, failure)| (failure.fail.reason.to_owned(), failure.fail.message.clone()))
        .unwrap_or_default()
}

/// The stock kubelet's reason where devices cannot be had; what is wrong with them is in the message.
fn refusal_words(view: &PodView<'_>) -> (String, String) {
    match &view.memory.refusal {
        Some(refusal) => (refusal.reason.clone(), refusal.message.clone()),
        None => {
            let (reason, message) = device_words(view).unwrap_or_default();
            let reason = if reason.is_empty() {
                String::new()
            } else {
                format!("{reason}: ")
            };
            let message = format!("Allocate failed due to {reason}{message}, which is unexpected");
            ("UnexpectedAdmissionError".to_owned(), message)
        }
    }
}

fn device_words(view: &PodView<'_>) -> Option<(String, String)> {
    match &view.memory.devices {
        DeviceState::Waiting { reason, message } | DeviceState::Refused { reason, message } => {
            Some(((*reason).to_owned(), message.clone()))
        }
        DeviceState::Unasked | DeviceState::Held | DeviceState::Released => None,
    }
}

/// Init containers are done and sidecars started, or a main container has run.
fn is_initialized(
    view: &PodView<'_>,
    want: &PodWant,
    init: &[ContainerStatus],
    containers: &[ContainerStatus],
) -> bool {
    let begun = containers
        .iter()
        .any(|each| each.last.is_some() || !matches!(each.state, ContainerState::Waiting { .. }));
    begun
        || want.init.iter().zip(init).all(|(container, status)| {
            let instance = newest(view.have, view.memory, &container.name);
            match (container.is_sidecar(), instance) {
                (true, Some(instance)) if instance.state == RunState::Running => {
                    is_started(view, container, instance)
                }
                (true, _) => false,
                (false, _) => status.ready,
            }
        })
}

/// `PodReadyToStartContainers`: the newest sandbox is up and has its network.
fn sandbox_ready(view: &PodView<'_>) -> bool {
    view.have.sandboxes.first().is_some_and(|sandbox| {
        let network = sandbox.network.as_ref();
        sandbox.ready && network.is_some_and(|network| network.host || !network.ips.is_empty())
    })
}

/// Addresses of the newest sandbox; they stay known after it is gone.
fn ips(view: &PodView<'_>) -> Vec<String> {
    let networks = view
        .have
        .sandboxes
        .iter()
        .filter_map(|each| each.network.as_ref());
    networks
        .map(|network| network.ips.clone())
        .next()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
