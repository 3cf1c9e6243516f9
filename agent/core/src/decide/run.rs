//! One container at a time: create, start, watch, replace, start again.

use std::time::Duration;

use super::draft::Draft;
use super::{clean, init, restart_all, start, stop};
use crate::end::deadline;
use crate::fail::FailKind;
use crate::gates::{post_start_over, verdicts};
use crate::have::{ContainerHave, RunState, SandboxHave};
use crate::instances::{is_in, newest};
use crate::memory::Instance;
use crate::plan::{Action, Life, ProbeKind, Probing, Why};
use crate::restart::{backoff, has_changed, restarts_after};
use crate::want::{ContainerWant, PodWant};

/// Where containers run, and whether new ones may be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) sandbox: &'a SandboxHave,
    ready: bool,
}

/// Decides about a pod that is to run.
pub(super) fn run(draft: &mut Draft<'_>, want: &PodWant) -> Life {
    if let Some(deadline) = deadline(draft.view, want) {
        draft.wake_at(deadline);
    }
    // A pod whose containers have all ended may be over, so nothing is taken for it before that is
    // known.
    let unknown = draft.await_exits(want);
    let live = draft
        .view
        .have
        .containers
        .iter()
        .any(|each| each.state.is_live());
    if unknown && !live {
        return Life::Waiting;
    }
    let prepared = start::prepare(draft, want);
    start::refresh(draft);
    let life = match start::usable(&draft.view.have.sandboxes, want) {
        Err(what) => {
            start::replace(draft, want, what, prepared);
            Life::Waiting
        }
        Ok(sandbox) => {
            let addressed = want.host_network || sandbox.network.is_some();
            if !addressed {
                let since = Instance::Sandbox(sandbox.id.clone());
                draft.await_details(draft.view.memory.seen.get(&since).copied());
            }
            let place = Place {
                sandbox,
                ready: prepared && addressed,
            };
            if restart_all::advance(draft, want) {
                return Life::Running;
            }
            for each in &want.ephemeral {
                ephemeral(draft, each, place);
            }
            if init::advance(draft, want, place) {
                for each in &want.containers {
                    container(draft, want, each, place);
                }
            }
            stop_unwanted(draft, want);
            clean::surplus_sandboxes(draft);
            Life::Running
        }
    };
    draft.inspect_failures();
    clean::surplus_containers(draft);
    clean::read_messages(draft);
    life
}

/// Brings one container to where it should be.
pub(super) fn container(
    draft: &mut Draft<'_>,
    want: &PodWant,
    container: &ContainerWant,
    place: Place<'_>,
) {
    if let Some(making) = draft.making(&container.name) {
        draft.list(making.clone(), Why::ContainerStarts);
        return;
    }
    let view = draft.view;
    let Some(last) = newest(view.have, view.memory, &container.name) else {
        // The runtime may have lost every run that the API tells of, in a reboot for instance.
        let earlier = want.restarts.get(&container.name);
        let attempt = earlier.map_or(0, |count| count.saturating_add(1));
        create(draft, container, place, attempt, Why::ContainerStarts);
        return;
    };
    let mut rivals =
        view.have.containers.iter().filter(|each| {
            each.name == container.name && each.id != last.id && each.state.is_live()
        });
    if let Some(rival) = rivals.next() {
        stop_one(draft, rival, want.grace, Why::Surplus);
        if !last.state.is_live() {
            return;
        }
    }
    match last.state {
        RunState::Created => start_created(draft, container, last, place),
        RunState::Running | RunState::Unknown => keep(draft, want, container, last, place),
        RunState::Exited => again(draft, want, container, last, place),
    }
}

/// Starts an ephemeral container once, whatever the others do (Kubernetes: also before the pod is
/// initialized).
fn ephemeral(draft: &mut Draft<'_>, container: &ContainerWant, place: Place<'_>) {
    let view = draft.view;
    if let Some(making) = draft.making(&container.name) {
        draft.list(making.clone(), Why::ContainerStarts);
        return;
    }
    match newest(view.have, view.memory, &container.name) {
        None => create(draft, container, place, 0, Why::ContainerStarts),
        Some(last) if last.state == RunState::Created && is_in(last, &place.sandbox.id) => {
            start_created(draft, container, last, place);
        }
        Some(_) => {}
    }
}

/// Makes sure of a container's image. True when that is done.
pub(super) fn image(draft: &mut Draft<'_>, container: &ContainerWant, why: Why) -> bool {
    let there = draft.view.memory.images.contains_key(&container.name);
    if !there {
        draft.list(
            Action::EnsureImage {
                container: container.name.clone(),
            },
            why,
        );
    }
    there
}

/// Whether the container will be made as soon as there is a sandbox.
pub(super) fn is_due(draft: &Draft<'_>, want: &PodWant, container: &ContainerWant) -> bool {
    let view = draft.view;
    let Some(last) = newest(view.have, view.memory, &container.name) else {
        return true;
    };
    if backoff(view, last, draft.now).is_some() {
        return false;
    }
    // An init container runs again in every new sandbox.
    let is_init = want.init.iter().any(|each| each.name == container.name);
    is_init
        || last
            .exit
            .as_ref()
            .is_none_or(|exit| restarts_after(view, want, container, last, exit))
}

fn create(
    draft: &mut Draft<'_>,
    container: &ContainerWant,
    place: Place<'_>,
    attempt: u32,
    why: Why,
) {
    if image(draft, container, why.clone()) && place.ready {
        let (container, sandbox) = (container.name.clone(), place.sandbox.id.clone());
        draft.list(
            Action::CreateContainer {
                container,
                attempt,
                sandbox,
            },
            why,
        );
    }
}

fn start_created(
    draft: &mut Draft<'_>,
    container: &ContainerWant,
    last: &ContainerHave,
    place: Place<'_>,
) {
    let view = draft.view;
    let action = Action::StartContainer {
        container: container.name.clone(),
        id: last.id.clone(),
    };
    let there = view.have.containers.iter().any(|each| each.id == last.id);
    let fits = there && is_in(last, &place.sandbox.id) && !has_changed(container, last);
    match view.memory.failures.get(&action) {
        Some(failure) if fits && failure.fail.kind == FailKind::Permanent => {
            // It may have been started all the same, so a look comes first, and then a removal makes
            // sure that it never will be.
            if failure.retry_at > draft.now {
                draft.wake_at(failure.retry_at);
            } else if failure.at <= view.memory.whole_at {
                draft.list(clean::remove(last), Why::Surplus);
            }
        }
        _ if fits => draft.list(action, Why::ContainerStarts),
        _ => next(draft, container, last, place, Why::ContainerStarts),
    }
}

fn next(
    draft: &mut Draft<'_>,
    container: &ContainerWant,
    last: &ContainerHave,
    place: Place<'_>,
    why: Why,
) {
    create(draft, container, place, last.attempt.saturating_add(1), why);
}

/// An instance that runs: stop it for a reason, or run its hook and probes.
fn keep(
    draft: &mut Draft<'_>,
    want: &PodWant,
    container: &ContainerWant,
    last: &ContainerHave,
    place: Place<'_>,
) {
    if let Some((why, grace)) = stop_reason(draft, want, container, last, place) {
        stop_one(draft, last, grace, why);
        return;
    }
    if !post_start_over(draft.view, container, last) {
        let (container, id) = (container.name.clone(), last.id.clone());
        draft.list(Action::PostStart { container, id }, Why::ContainerStarts);
        return;
    }
    probes(draft, container, last);
}

/// Why a running instance has to end, and with which grace period.
fn stop_reason(
    draft: &Draft<'_>,
    want: &PodWant,
    container: &ContainerWant,
    last: &ContainerHave,
    place: Place<'_>,
) -> Option<(Why, Duration)> {
    let view = draft.view;
    let verdicts = verdicts(view, last);
    let probes = &container.probes;
    let own_grace = |probe: &Option<crate::want::Probe>| {
        probe
            .as_ref()
            .and_then(|probe| probe.grace)
            .unwrap_or(want.grace)
    };
    let runs_once =
        want.init.iter().any(|each| each.name == container.name) && !container.is_sidecar();
    if last.state == RunState::Unknown {
        Some((Why::StateUnknown, want.grace))
    } else if !is_in(last, &place.sandbox.id) {
        Some((
            Why::SandboxBroken {
                what: "the container is in an older one",
            },
            want.grace,
        ))
    } else if has_changed(container, last) && !runs_once {
        Some((Why::DefinitionChanged, want.grace))
    } else if probes.liveness.is_some() && verdicts.liveness == Some(false) {
        Some((Why::LivenessFailed, own_grace(&probes.liveness)))
    } else if probes.startup.is_some() && verdicts.startup == Some(false) {
        Some((Why::StartupFailed, own_grace(&probes.startup)))
    } else if matches!(view.memory.post_start.get(&last.id), Some(Err(_))) {
        Some((Why::PostStartFailed, want.grace))
    } else if view.memory.stopping.contains_key(&last.id) {
        // A stop that has begun is never taken back.
        Some((Why::Surplus, want.grace))
    } else {
        None
    }
}

/// Lists the probes that should run. A final verdict puts a probe on hold until the next instance.
fn probes(draft: &mut Draft<'_>, container: &ContainerWant, instance: &ContainerHave) {
    let verdicts = verdicts(draft.view, instance);
    let mut probe = |kind| {
        let (container, id) = (container.name.clone(), instance.id.clone());
        draft.probe(Probing {
            container,
            id,
            kind,
        });
    };
    if container.probes.startup.is_some() && verdicts.startup.is_none() {
        probe(ProbeKind::Startup);
    }
    let gate = passed_startup(container, verdicts.startup);
    if container.probes.liveness.is_some() && gate && verdicts.liveness != Some(false) {
        probe(ProbeKind::Liveness);
    }
    readiness(draft, container, instance);
}

/// Lists the readiness probe, if there is one.
pub(super) fn readiness(
    draft: &mut Draft<'_>,
    container: &ContainerWant,
    instance: &ContainerHave,
) {
    let verdicts = verdicts(draft.view, instance);
    let gate = passed_startup(container, verdicts.startup);
    if container.probes.readiness.is_some()
        && gate
        && post_start_over(draft.view, container, instance)
    {
        let (container, id) = (container.name.clone(), instance.id.clone());
        draft.probe(Probing {
            container,
            id,
            kind: ProbeKind::Readiness,
        });
    }
}

/// An adopted container counts as started, yet its startup probe comes before the others.
fn passed_startup(container: &ContainerWant, verdict: Option<bool>) -> bool {
    container.probes.startup.is_none() || verdict == Some(true)
}

/// An instance that has ended: start the next one when policy and back-off say so.
fn again(
    draft: &mut Draft<'_>,
    want: &PodWant,
    container: &ContainerWant,
    last: &ContainerHave,
    place: Place<'_>,
) {
    let view = draft.view;
    let init = want.init.iter().any(|each| each.name == container.name);
    // Init containers run again in a new sandbox, whatever became of them in the old one.
    let elsewhere = init && !is_in(last, &place.sandbox.id);
    let why = match &last.exit {
        _ if elsewhere => Why::ContainerStarts,
        Some(exit) if restarts_after(view, want, container, last, exit) => Why::ContainerRestarts {
            exit_code: Some(exit.code),
        },
        // How it ended decides, and is awaited.
        Some(_) | None => return,
    };
    match backoff(view, last, draft.now) {
        Some(waiting) => draft.wake_at(waiting.until),
        None => next(draft, container, last, place, why),
    }
}

/// Containers that the manifest does not name any more.
fn stop_unwanted(draft: &mut Draft<'_>, want: &PodWant) {
    let named = |each: &ContainerHave| want.all().any(|container| container.name == each.name);
    for each in draft
        .view
        .have
        .containers
        .iter()
        .filter(|each| each.state.is_live())
    {
        if !named(each) {
            stop_one(draft, each, want.grace, Why::DefinitionChanged);
        }
    }
}

fn stop_one(draft: &mut Draft<'_>, instance: &ContainerHave, grace: Duration, why: Why) {
    let deadline = draft.now.plus(grace);
    stop::container(draft, instance, deadline, true, &why);
}
