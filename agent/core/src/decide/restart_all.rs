//! Restart of all containers in the pod's sandbox, asked for by a rule on an exit code.
//!
//! Kubernetes 1.37 (`RestartAllContainersOnContainerExits`): what runs is killed without hooks, all
//! containers are removed and their logs kept, those that asked for it last, so that a new agent sees
//! the request as long as anything is left to do; then the pod begins anew in the same sandbox.

use super::clean;
use super::draft::Draft;
use super::stop;
use crate::have::{ContainerHave, RunState};
use crate::plan::{Action, Why};
use crate::restart::restarts_all;
use crate::view::PodView;
use crate::want::{ContainerWant, PodWant};

/// Carries a restart on, if there is one. True while it is going on.
pub(super) fn advance(draft: &mut Draft<'_>, want: &PodWant) -> bool {
    let view = draft.view;
    if !is_asked(view, want) {
        return false;
    }
    let live = |each: &&ContainerHave| each.state.is_live() && named(want, each).is_some();
    let mut any = draft.is_making();
    for each in view.have.containers.iter().filter(live) {
        stop::container(draft, each, draft.now, true, &Why::AllRestart);
        any = true;
    }
    if any || !clean::read_messages(draft) {
        return true;
    }
    let mut dead: Vec<(usize, &ContainerHave)> = view
        .have
        .containers
        .iter()
        .filter_map(|each| Some((group(want, named(want, each)?, each), each)))
        .collect();
    dead.sort_by_key(|(group, _)| *group);
    let first = dead.first().map(|(group, _)| *group);
    for (_, each) in dead.iter().filter(|(group, _)| Some(*group) == first) {
        let (container, id) = (each.name.clone(), each.id.clone());
        draft.list(Action::ClearContainer { container, id }, Why::AllRestart);
    }
    true
}

/// A container that is still there has ended with such a code.
pub(crate) fn is_asked(view: &PodView<'_>, want: &PodWant) -> bool {
    let mut containers = view.have.containers.iter();
    containers.any(|each| named(want, each).is_some_and(|container| asks(container, each)))
}

fn asks(container: &ContainerWant, instance: &ContainerHave) -> bool {
    let exit = instance.exit.as_ref();
    instance.state == RunState::Exited
        && exit.is_some_and(|exit| restarts_all(container, exit.code))
}

/// Main containers go before init containers, and those that asked go last.
fn group(want: &PodWant, container: &ContainerWant, instance: &ContainerHave) -> usize {
    let init = want.init.iter().any(|each| each.name == container.name);
    usize::from(init) + 2 * usize::from(asks(container, instance))
}

/// Ephemeral containers are not restarted, so they do not count.
fn named<'a>(want: &'a PodWant, instance: &ContainerHave) -> Option<&'a ContainerWant> {
    let mut containers = want.init.iter().chain(&want.containers);
    containers.find(|each| each.name == instance.name)
}
