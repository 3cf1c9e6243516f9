//! Whether a pod is over by its own rules.

use crate::instances::{newest, newest_in, newest_used_sandbox};
use crate::memory::{DeviceState, PodEnd};
use crate::plan::StopWhy;
use crate::restart::restarts_after;
use crate::time::Time;
use crate::view::PodView;
use crate::want::{ContainerWant, PodWant};

/// The pod's own end, once and for all. A pod that was asked to stop can only finish.
pub(crate) fn pod_end(view: &PodView<'_>, now: Time) -> Option<PodEnd> {
    let memory = view.memory;
    if memory.end.is_some() {
        return memory.end;
    }
    let want = view.want?;
    if want.over.is_some() {
        return Some(PodEnd {
            why: StopWhy::Finished,
            at: now,
        });
    }
    let finished = finished(view, want);
    let passed = deadline(view, want).filter(|deadline| *deadline <= now);
    let why = match (finished, passed) {
        (Some(_), _) if view.stop.is_some() => StopWhy::Finished,
        (None, _) if view.stop.is_some() => return None,
        // What ended after the deadline was ended by it.
        (Some(finished), Some(deadline)) if finished > deadline => StopWhy::DeadlineExceeded,
        (Some(_), _) => StopWhy::Finished,
        (None, Some(_)) => StopWhy::DeadlineExceeded,
        (None, None) if is_refused(view, want, now) => StopWhy::Refused,
        (None, None) => return None,
    };
    Some(PodEnd { why, at: now })
}

/// When `activeDeadlineSeconds` are over.
pub(crate) fn deadline(view: &PodView<'_>, want: &PodWant) -> Option<Time> {
    want.active_deadline
        .map(|limit| view.memory.seen_at.plus(limit))
}

/// When the last container ended, if none of them is started again.
fn finished(view: &PodView<'_>, want: &PodWant) -> Option<Time> {
    if let Some(failed) = failed_init(view, want) {
        return Some(failed);
    }
    let mut last = None;
    for container in &want.containers {
        last = last.max(Some(over(view, want, container)?.at));
    }
    last
}

/// When an init container failed for good.
///
/// Only the last one with an instance in the newest sandbox that was used can have failed: whatever
/// came after one, an init container or a main one, tells that it had ended well.
pub(crate) fn failed_init(view: &PodView<'_>, want: &PodWant) -> Option<Time> {
    let sandbox = newest_used_sandbox(view.have, view.memory)?;
    let there = |container: &&ContainerWant| {
        newest_in(view.have, view.memory, &container.name, sandbox).is_some()
    };
    if want.containers.iter().any(|container| there(&container)) {
        return None;
    }
    let last = want.init.iter().rev().find(there)?;
    let end = over(view, want, last).filter(|end| end.bad && !last.is_sidecar());
    end.map(|end| end.at)
}

struct Over {
    at: Time,
    bad: bool,
}

/// How a container ended, if it has and stays so. An end without details does not count yet.
fn over(view: &PodView<'_>, want: &PodWant, container: &ContainerWant) -> Option<Over> {
    let last = newest(view.have, view.memory, &container.name)?;
    let exit = last.exit.as_ref()?;
    if restarts_after(view, want, container, last, exit) {
        return None;
    }
    // The runtime's clock tells of the time before this agent; its own clock is the steady one.
    let seen = view
        .memory
        .ended
        .get(&last.id)
        .copied()
        .unwrap_or(exit.finished_at);
    Some(Over {
        at: seen.min(exit.finished_at),
        bad: exit.code != 0,
    })
}

/// A pod that got as far as a container is never refused any more.
fn is_refused(view: &PodView<'_>, want: &PodWant, now: Time) -> bool {
    let memory = view.memory;
    let without_devices = match memory.devices {
        DeviceState::Refused { .. } => true,
        DeviceState::Waiting { .. } => patience(view).is_some_and(|end| end <= now),
        _ => false,
    };
    let untouched = view.have.containers.is_empty() && memory.gone.is_empty();
    memory.refusal.is_some() || (without_devices && untouched && !want.is_static)
}

/// Until when a pod of the API waits for devices.
pub(crate) fn patience(view: &PodView<'_>) -> Option<Time> {
    let since = view.memory.devices_since?;
    Some(since.plus(view.rules.device_wait))
}
