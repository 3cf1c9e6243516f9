//! Init containers in order, sidecars among them.
//!
//! Kubernetes 1.37: what counts is the newest sandbox. Once a main container exists in it, the pod is
//! initialized and only sidecars are kept running; otherwise the last init container with an instance
//! in it tells how far the pod is, since the ones before may have been removed.

use super::draft::Draft;
use super::run::{self, Place};
use crate::gates::is_started;
use crate::have::{ContainerHave, RunState};
use crate::instances::newest_in;
use crate::want::{ContainerWant, PodWant};

/// Moves the init containers on. True when the main containers may run.
pub(super) fn advance(draft: &mut Draft<'_>, want: &PodWant, place: Place<'_>) -> bool {
    let view = draft.view;
    let instance = |container: &ContainerWant| {
        newest_in(view.have, view.memory, &container.name, &place.sandbox.id)
    };
    if want
        .containers
        .iter()
        .any(|container| instance(container).is_some())
    {
        keep_sidecars(draft, want, &want.init, place);
        return true;
    }
    let Some(first) = want.init.first() else {
        return true;
    };
    let last = want
        .init
        .iter()
        .rposition(|container| instance(container).is_some());
    let Some((at, container)) = last.and_then(|at| Some((at, want.init.get(at)?))) else {
        run::container(draft, want, first, place);
        return false;
    };
    keep_sidecars(draft, want, want.init.get(..at).unwrap_or_default(), place);
    let done = instance(container).is_some_and(|instance| is_done(draft, container, instance));
    if container.is_sidecar() || !done {
        run::container(draft, want, container, place);
    }
    match want.init.get(at.saturating_add(1)) {
        _ if !done => false,
        Some(next) => {
            run::container(draft, want, next, place);
            false
        }
        None => true,
    }
}

fn is_done(draft: &Draft<'_>, container: &ContainerWant, instance: &ContainerHave) -> bool {
    if container.is_sidecar() {
        return is_started(draft.view, container, instance);
    }
    instance.state == RunState::Exited && instance.exit.as_ref().is_some_and(|exit| exit.code == 0)
}

fn keep_sidecars(
    draft: &mut Draft<'_>,
    want: &PodWant,
    containers: &[ContainerWant],
    place: Place<'_>,
) {
    for container in containers.iter().filter(|container| container.is_sidecar()) {
        run::container(draft, want, container, place);
    }
}
