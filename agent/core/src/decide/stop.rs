//! Ending containers in order, within their grace period.

use std::time::Duration;

use super::draft::Draft;
use super::{clean, run};
use crate::have::{ContainerHave, RunState};
use crate::memory::PodEnd;
use crate::plan::{Action, Life, StopWhy, Why};
use crate::time::Time;
use crate::view::PodView;
use crate::want::PodWant;

/// Grace period of a container about which nothing is known (Kubernetes: pods that nobody wants are
/// killed with 1 s).
const UNKNOWN_GRACE: Duration = Duration::from_secs(1);

/// Decides about a pod that is to stop, by request or because it has ended.
pub(super) fn stop(draft: &mut Draft<'_>, why: StopWhy, end: Option<PodEnd>) -> Life {
    let view = draft.view;
    let live = view.have.containers.iter().any(|each| each.state.is_live());
    let unsure = draft.inspect_failures();
    let unknown = view.want.is_some_and(|want| draft.await_exits(want));
    if live || unsure || draft.is_making() {
        let deadline = |each: &ContainerHave| pod_deadline(view, end, each);
        let last = wind_down(draft, &deadline, &Why::PodStops(why));
        keep_readiness(draft);
        return Life::Stopping {
            why,
            deadline: last.unwrap_or(draft.now),
        };
    }
    let removed = view.stop.is_some();
    match clean::clean(draft, why, removed, unknown) {
        false => Life::Cleaning,
        true if removed => Life::Done,
        true => Life::Finished,
    }
}

/// Ends every live container: main containers side by side, then sidecars from the last to the
/// first. Hooks of all of them start at once. Returns when the last grace period is over.
pub(super) fn wind_down(
    draft: &mut Draft<'_>,
    deadline: &dyn Fn(&ContainerHave) -> Time,
    why: &Why,
) -> Option<Time> {
    let view = draft.view;
    let live = || {
        view.have
            .containers
            .iter()
            .filter(|each| each.state.is_live())
    };
    let mut last = None;
    for each in live() {
        let deadline = promised(view, each, deadline(each));
        let rank = rank(view.want, each);
        let turn = live().all(|other| self::rank(view.want, other) >= rank);
        if !turn {
            draft.wake_at(deadline);
        }
        container(draft, each, deadline, turn || draft.now >= deadline, why);
        last = last.max(Some(deadline));
    }
    last
}

/// Ends one container: its hook first, if there is time for it, and the stop when it is its turn.
pub(super) fn container(
    draft: &mut Draft<'_>,
    instance: &ContainerHave,
    deadline: Time,
    turn: bool,
    why: &Why,
) {
    let view = draft.view;
    let deadline = promised(view, instance, deadline);
    let (container, id) = (instance.name.clone(), instance.id.clone());
    let hook = has_hook(view, instance)
        && instance.state == RunState::Running
        && !view.memory.pre_stop.contains(&id);
    if hook && draft.now < deadline {
        // A hook that runs goes on when the deadline moves closer; it is not begun twice.
        let begun = view.running.iter().find(
            |action| matches!(action, Action::PreStop { id: other, .. } if *other == instance.id),
        );
        let hook = begun.cloned().unwrap_or(Action::PreStop {
            container,
            id,
            deadline,
        });
        draft.wake_at(deadline);
        draft.list(hook, why.clone());
    } else if turn {
        draft.list(
            Action::StopContainer {
                container,
                id,
                deadline,
            },
            why.clone(),
        );
    }
}

/// Deadlines only move closer.
fn promised(view: &PodView<'_>, instance: &ContainerHave, deadline: Time) -> Time {
    view.memory
        .stopping
        .get(&instance.id)
        .map_or(deadline, |promised| deadline.min(*promised))
}

fn pod_deadline(view: &PodView<'_>, end: Option<PodEnd>, instance: &ContainerHave) -> Time {
    let grace = match view.want {
        Some(want) => want.grace,
        None => instance.recovered.grace.unwrap_or(UNKNOWN_GRACE),
    };
    let by_request = view
        .stop
        .map(|stop| stop.at.plus(stop.grace.unwrap_or(grace)));
    // What ends while a request is carried out keeps to the request.
    let before = |end: &PodEnd| view.stop.is_none_or(|stop| end.at <= stop.at);
    let by_end = end.filter(before).map(|end| end.at.plus(grace));
    by_request
        .into_iter()
        .chain(by_end)
        .min()
        .unwrap_or(Time(i64::MAX))
}

/// Lower ranks end first. A sidecar outlives the main containers and the sidecars after it.
fn rank(want: Option<&PodWant>, instance: &ContainerHave) -> usize {
    let init = want.map(|want| want.init.as_slice()).unwrap_or_default();
    let sidecar = init
        .iter()
        .rev()
        .position(|each| each.name == instance.name && each.is_sidecar());
    sidecar.map_or(0, |from_the_end| from_the_end.saturating_add(1))
}

fn has_hook(view: &PodView<'_>, instance: &ContainerHave) -> bool {
    let wanted = view.want.into_iter().flat_map(PodWant::all);
    let mut named = wanted.filter(|container| container.name == instance.name);
    named
        .next()
        .map_or(instance.recovered.pre_stop.is_some(), |container| {
            container.pre_stop.is_some()
        })
}

/// Kubernetes: while a pod stops, readiness is still probed, so that traffic ends when it should.
fn keep_readiness(draft: &mut Draft<'_>) {
    let Some(want) = draft.view.want else { return };
    for instance in draft
        .view
        .have
        .containers
        .iter()
        .filter(|each| each.state == RunState::Running)
    {
        let mut wanted = want.init.iter().chain(&want.containers);
        if let Some(container) = wanted.find(|each| each.name == instance.name) {
            run::readiness(draft, container, instance);
        }
    }
}
