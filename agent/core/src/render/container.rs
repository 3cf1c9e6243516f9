//! The status of one container.

use std::time::Duration;

use crate::gates::{is_ready, is_started};
use crate::have::{ContainerHave, Exit, RunState};
use crate::ids::{ContainerId, ContainerName};
use crate::instances::{newest, newest_dead_before};
use crate::memory::Failure;
use crate::plan::Action;
use crate::restart::{backoff, restarts_after};
use crate::status::{ContainerState, ContainerStatus, Terminated};
use crate::time::Time;
use crate::view::PodView;
use crate::want::{ContainerWant, PodWant};

/// Status of a container that the manifest names.
pub(super) fn wanted(
    view: &PodView<'_>,
    want: &PodWant,
    container: &ContainerWant,
    now: Time,
) -> ContainerStatus {
    let Some(instance) = newest(view.have, view.memory, &container.name) else {
        return never_made(view, want, container);
    };
    let mut state = state(view, instance);
    let mut last = newest_dead_before(view.have, view.memory, instance).map(|each| end(view, each));
    if instance.state == RunState::Created {
        state = waiting(view, container, Some(instance)).unwrap_or_else(|| default_waiting(want));
    } else if let Some(waiting) = restart_waiting(view, want, container, instance, now) {
        if let ContainerState::Terminated(terminated) = state {
            last = Some(terminated);
        }
        state = waiting;
    }
    let init = want.init.iter().any(|each| each.name == container.name);
    let runs_once = init && !container.is_sidecar();
    let succeeded =
        matches!(&state, ContainerState::Terminated(terminated) if terminated.exit_code == 0);
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.to_string(),
        image_id: instance.image_id.clone(),
        user: instance.user.clone(),
        id: Some(instance.id.clone()),
        state,
        last,
        ready: if runs_once {
            succeeded
        } else {
            is_ready(view, container, instance)
        },
        started: is_started(view, container, instance),
        restart_count: instance.attempt,
    }
}

/// Containers of a pod without a manifest, as far as the runtime tells.
pub(super) fn unnamed(view: &PodView<'_>) -> Vec<ContainerStatus> {
    let mut names: Vec<&ContainerName> =
        view.have.containers.iter().map(|each| &each.name).collect();
    names.sort();
    names.dedup();
    let newest = names
        .into_iter()
        .filter_map(|name| newest(view.have, view.memory, name));
    newest
        .map(|instance| ContainerStatus {
            name: instance.name.clone(),
            image: String::new(),
            image_id: instance.image_id.clone(),
            user: instance.user.clone(),
            id: Some(instance.id.clone()),
            state: state(view, instance),
            last: newest_dead_before(view.have, view.memory, instance).map(|each| end(view, each)),
            ready: false,
            started: instance.state == RunState::Running,
            restart_count: instance.attempt,
        })
        .collect()
}

fn never_made(view: &PodView<'_>, want: &PodWant, container: &ContainerWant) -> ContainerStatus {
    let init = want.init.iter().any(|each| each.name == container.name);
    let runs_once = init && !container.is_sidecar();
    let main_exists = want
        .containers
        .iter()
        .any(|each| newest(view.have, view.memory, &each.name).is_some());
    let state = if runs_once && main_exists {
        // It must have ended well, or no main container would be there.
        ContainerState::Terminated(Terminated {
            exit_code: 0,
            reason: "Completed".to_owned(),
            message:
                "The runtime does not know this init container any more; the pod is initialized, \
                      so it counts as completed"
                    .to_owned(),
            started_at: None,
            finished_at: view.memory.seen_at,
            id: ContainerId::new(""),
        })
    } else {
        waiting(view, container, None).unwrap_or_else(|| default_waiting(want))
    };
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.to_string(),
        image_id: String::new(),
        user: None,
        id: None,
        ready: matches!(state, ContainerState::Terminated(_)),
        state,
        last: None,
        started: false,
        restart_count: 0,
    }
}

/// What the runtime shows of one instance.
fn state(view: &PodView<'_>, instance: &ContainerHave) -> ContainerState {
    let running = || ContainerState::Running {
        started_at: instance.started_at.unwrap_or(instance.created_at),
    };
    match instance.state {
        RunState::Created => ContainerState::Waiting {
            reason: "ContainerCreating".to_owned(),
            message: String::new(),
        },
        RunState::Running => running(),
        // The exit code will be known in a moment, and an end without one would read as a failure.
        RunState::Exited if instance.exit.is_none() => running(),
        RunState::Exited | RunState::Unknown => ContainerState::Terminated(end(view, instance)),
    }
}

/// The pod stops or has ended, so nothing is started again.
fn is_ending(view: &PodView<'_>) -> bool {
    view.stop.is_some() || view.memory.end.is_some()
}

/// How an instance ended.
fn end(view: &PodView<'_>, instance: &ContainerHave) -> Terminated {
    let unknown = || Exit {
        code: 137,
        reason: "ContainerStatusUnknown".to_owned(),
        message: "The runtime lost track of the container; how it ended is unknown".to_owned(),
        finished_at: view
            .memory
            .ended
            .get(&instance.id)
            .copied()
            .unwrap_or(instance.created_at),
    };
    let exit = instance.exit.clone().unwrap_or_else(unknown);
    let written = view
        .memory
        .messages
        .get(&instance.id)
        .filter(|message| !message.is_empty());
    Terminated {
        exit_code: exit.code,
        reason: exit.reason,
        message: written.cloned().unwrap_or(exit.message),
        started_at: instance.started_at,
        finished_at: exit.finished_at,
        id: instance.id.clone(),
    }
}

/// An ended container that will be started again, but not yet: what it waits for.
fn restart_waiting(
    view: &PodView<'_>,
    want: &PodWant,
    container: &ContainerWant,
    instance: &ContainerHave,
    now: Time,
) -> Option<ContainerState> {
    let exit = instance.exit.as_ref()?;
    let init = want.init.iter().any(|each| each.name == container.name);
    let succeeded_init = init && !container.is_sidecar() && exit.code == 0;
    if is_ending(view) || succeeded_init || !restarts_after(view, want, container, instance, exit) {
        return None;
    }
    if let Some(waiting) = backoff(view, instance, now) {
        let pod = format!("{}_{}({})", view.name.name, view.name.namespace, view.uid);
        return Some(ContainerState::Waiting {
            reason: "CrashLoopBackOff".to_owned(),
            message: format!(
                "back-off {} restarting failed container={} pod={pod}",
                go_duration(waiting.delay),
                container.name
            ),
        });
    }
    waiting(view, container, Some(instance))
}

/// The failure that keeps a container from starting.
fn waiting(
    view: &PodView<'_>,
    container: &ContainerWant,
    instance: Option<&ContainerHave>,
) -> Option<ContainerState> {
    let failures = view
        .memory
        .failures
        .iter()
        .filter(|(action, _)| match action {
            Action::EnsureImage { container: name }
            | Action::CreateContainer {
                container: name, ..
            } => *name == container.name,
            Action::StartContainer { id, .. } => instance.is_some_and(|each| each.id == *id),
            _ => false,
        });
    let (action, failure) = failures.max_by_key(|(_, failure)| failure.retry_at)?;
    let (reason, message) = match action {
        Action::EnsureImage { .. } => pull_words(failure, container),
        _ => (failure.fail.reason.to_owned(), failure.fail.message.clone()),
    };
    Some(ContainerState::Waiting { reason, message })
}

/// Reasons of a pull that was tried and failed.
const PULL_REASONS: [&str; 3] = [
    "ErrImagePull",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];

/// The first failed pull is told as it is, later ones as a back-off.
fn pull_words(failure: &Failure, container: &ContainerWant) -> (String, String) {
    let fail = &failure.fail;
    if !PULL_REASONS.contains(&fail.reason) || failure.count < 2 {
        return (fail.reason.to_owned(), fail.message.clone());
    }
    let image = fail.image.as_ref().unwrap_or(&container.image);
    let message = format!("Back-off pulling image \"{image}\": {fail}");
    ("ImagePullBackOff".to_owned(), message)
}

fn default_waiting(want: &PodWant) -> ContainerState {
    let reason = if want.init.is_empty() {
        "ContainerCreating"
    } else {
        "PodInitializing"
    };
    ContainerState::Waiting {
        reason: reason.to_owned(),
        message: String::new(),
    }
}

/// A duration of whole seconds as Go prints it: `10s`, `1m20s`, `5m0s`.
fn go_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes}m{seconds}s"),
    }
}
