//! Giving back what a pod had, and removing what is too much.

use std::cmp::Reverse;

use super::draft::Draft;
use super::start::needs_devices;
use crate::have::{ContainerHave, RunState};
use crate::ids::ContainerName;
use crate::instances::newest;
use crate::memory::DeviceState;
use crate::plan::{Action, StopWhy, Why};
use crate::view::PodView;

/// Dead instances kept for each container (Kubernetes: 1).
const DEAD_KEPT: usize = 1;

/// Gives everything back, in an order in which nothing is used any more when it goes: sandboxes are
/// stopped first, which ends the last process. True when all is done.
///
/// A pod that is not removed keeps its dead containers and logs. While exit codes are `unknown`,
/// nothing that could still tell them is removed, unless the runtime was asked in vain.
pub(super) fn clean(draft: &mut Draft<'_>, why: StopWhy, removed: bool, unknown: bool) -> bool {
    let deleted = why == StopWhy::Deleted;
    let (view, why) = (draft.view, Why::PodStops(why));
    let unstopped = view
        .have
        .sandboxes
        .iter()
        .filter(|each| !view.memory.stopped.contains(&each.id));
    let unstopped: Vec<_> = unstopped.map(|each| each.id.clone()).collect();
    if !unstopped.is_empty() {
        for id in unstopped {
            draft.list(Action::StopSandbox { id }, why.clone());
        }
        read_messages(draft);
        return false;
    }
    let told = !unknown || view.memory.failures.contains_key(&Action::InspectPod);
    let messages_read = read_messages(draft) && told;
    let mut done = messages_read;
    if needs_release(view) {
        draft.list(Action::ReleaseDevices, Why::LastReference);
        done = false;
    }
    if !view.memory.host_cleaned {
        // Messages lie in the pod's directory.
        if messages_read {
            draft.list(Action::CleanHost, why.clone());
        }
        done = false;
    }
    if !removed {
        return !surplus_containers(draft) && done;
    }
    if !told {
        return false;
    }
    // Logs go while the runtime still knows the pod: after a crash in between it is found again by
    // what is left there, with the name that the log directory is called by.
    if !view.memory.logs_removed {
        if messages_read {
            draft.list(Action::RemoveLogs, why);
        }
        return false;
    }
    for sandbox in &view.have.sandboxes {
        let id = sandbox.id.clone();
        draft.list(Action::RemoveSandbox { id }, why.clone());
    }
    for each in view
        .have
        .containers
        .iter()
        .filter(|each| is_stray(view, each))
    {
        draft.list(remove(each), why.clone());
    }
    let removed = view.have.sandboxes.is_empty() && view.have.containers.is_empty();
    done && (removed || (deleted && is_stuck(view)))
}

/// Tries after which the runtime is not expected to remove what is dead.
const STUCK: u32 = 3;

/// The runtime refuses to remove what is left, for instance since it lost track of a task whose start was
/// broken off. Nothing of it runs and the host is clean, so it does not keep the pod's object in the API
/// (Kubernetes: dead sandboxes are collected apart from that); as a stranger it is tried on and on.
fn is_stuck(view: &PodView<'_>) -> bool {
    let fails = |action: &Action| {
        let failure = view.memory.failures.get(action);
        failure.is_some_and(|failure| failure.count >= STUCK)
    };
    let mut sandboxes = view.have.sandboxes.iter();
    let strays = || {
        view.have
            .containers
            .iter()
            .filter(|each| is_stray(view, each))
    };
    sandboxes.all(|each| {
        fails(&Action::RemoveSandbox {
            id: each.id.clone(),
        })
    }) && strays().all(|each| fails(&remove(each)))
}

/// Removes dead instances beyond the newest of each container. True when there are any.
pub(super) fn surplus_containers(draft: &mut Draft<'_>) -> bool {
    let view = draft.view;
    let mut dead: Vec<&ContainerHave> = view
        .have
        .containers
        .iter()
        .filter(|each| is_dead(view, each))
        .collect();
    dead.sort_by_key(|each| {
        (
            &each.name,
            Reverse((each.attempt, each.created_at, &each.id)),
        )
    });
    let mut kept: Option<(&ContainerName, usize)> = None;
    let mut any = false;
    for each in dead {
        let before = kept
            .filter(|(name, _)| *name == &each.name)
            .map_or(0, |(_, count)| count);
        kept = Some((&each.name, before.saturating_add(1)));
        if before >= DEAD_KEPT {
            draft.list(remove(each), Why::Surplus);
            any = true;
        }
    }
    any
}

/// Removes older sandboxes that hold no container any more.
pub(super) fn surplus_sandboxes(draft: &mut Draft<'_>) {
    let view = draft.view;
    for sandbox in view.have.sandboxes.iter().skip(1) {
        let id = sandbox.id.clone();
        if view
            .have
            .containers
            .iter()
            .any(|each| each.sandbox.as_ref() == Some(&id))
        {
            continue;
        }
        if view.memory.stopped.contains(&id) {
            draft.list(Action::RemoveSandbox { id }, Why::Surplus);
        } else {
            draft.list(Action::StopSandbox { id }, Why::Surplus);
        }
    }
}

/// Reads the termination messages of ended containers. True when none is left to read.
pub(super) fn read_messages(draft: &mut Draft<'_>) -> bool {
    let view = draft.view;
    let Some(want) = view.want.filter(|_| !view.memory.host_cleaned) else {
        return true;
    };
    let mut all_read = true;
    for each in &view.have.containers {
        let wanted = want.all().any(|known| known.name == each.name);
        let ended = each.state == RunState::Exited && each.exit.is_some();
        if wanted && ended && !view.memory.messages.contains_key(&each.id) {
            let (container, id) = (each.name.clone(), each.id.clone());
            draft.list(
                Action::ReadTermination { container, id },
                Why::ContainerEnded,
            );
            all_read = false;
        }
    }
    all_read
}

/// Ended, or created and then replaced by another.
fn is_dead(view: &PodView<'_>, instance: &ContainerHave) -> bool {
    match instance.state {
        RunState::Exited => true,
        RunState::Created => newest(view.have, view.memory, &instance.name)
            .is_some_and(|newest| newest.id != instance.id),
        RunState::Running | RunState::Unknown => false,
    }
}

/// In none of the sandboxes that are left, so that no removal of a sandbox takes it along.
fn is_stray(view: &PodView<'_>, instance: &ContainerHave) -> bool {
    let sandboxes = &view.have.sandboxes;
    match &instance.sandbox {
        Some(id) => !sandboxes.iter().any(|each| each.id == *id),
        None => sandboxes.is_empty(),
    }
}

fn needs_release(view: &PodView<'_>) -> bool {
    // What a pod without a manifest holds is not known.
    let may_hold = view.want.is_none_or(needs_devices);
    may_hold && view.memory.devices != DeviceState::Released
}

pub(super) fn remove(instance: &ContainerHave) -> Action {
    Action::RemoveContainer {
        container: instance.name.clone(),
        id: instance.id.clone(),
        attempt: instance.attempt,
    }
}
