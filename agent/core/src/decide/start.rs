//! What a pod needs before its containers: devices, host, sandbox.

use super::draft::Draft;
use super::{run, stop};
use crate::end::patience;
use crate::have::SandboxHave;
use crate::memory::DeviceState;
use crate::plan::{Action, Why};
use crate::want::{ContainerWant, PodWant};

/// Sees to devices and host. True when both are there.
pub(super) fn prepare(draft: &mut Draft<'_>, want: &PodWant) -> bool {
    let memory = draft.view.memory;
    let held = match memory.devices {
        _ if !needs_devices(want) => true,
        DeviceState::Held => true,
        DeviceState::Unasked | DeviceState::Released => {
            draft.list(Action::HoldDevices, Why::PodStarts);
            false
        }
        DeviceState::Waiting { .. } | DeviceState::Refused { .. } => {
            if let Some(end) = patience(draft.view).filter(|_| !want.is_static) {
                draft.wake_at(end);
            }
            if memory.devices_changed || draft.view.running.contains(&Action::HoldDevices) {
                draft.list(Action::HoldDevices, Why::PodStarts);
            }
            false
        }
    };
    if !memory.host_prepared {
        draft.list(Action::PrepareHost, Why::PodStarts);
    }
    held && memory.host_prepared
}

/// Sees to the contents of volumes, which may change under running containers.
pub(super) fn refresh(draft: &mut Draft<'_>) {
    let memory = draft.view.memory;
    if !memory.host_prepared {
        return;
    }
    let due = memory.refresh_at.is_some_and(|at| at <= draft.now);
    let begun = draft.view.running.contains(&Action::RefreshVolumes);
    if due || memory.references_changed || begun {
        draft.list(Action::RefreshVolumes, Why::ContentsChanged);
    } else if let Some(at) = memory.refresh_at {
        draft.wake_at(at);
    }
}

/// Whether any container asks for a device.
pub(super) fn needs_devices(want: &PodWant) -> bool {
    let mut containers = want.init.iter().chain(&want.containers);
    containers.any(|container| container.devices.iter().any(|(_, count)| *count > 0))
}

/// The newest sandbox if containers can run in it, or what is wrong with it.
///
/// Kubernetes 1.37: none there, more than one ready, the newest not ready, another network mode, or
/// no address although it has a network. Network details that are not known yet are no fault.
pub(super) fn usable<'a>(
    sandboxes: &'a [SandboxHave],
    want: &PodWant,
) -> Result<&'a SandboxHave, &'static str> {
    let Some(newest) = sandboxes.first() else {
        return Err("there is none");
    };
    if sandboxes.iter().filter(|each| each.ready).count() > 1 {
        return Err("more than one is ready");
    }
    if !newest.ready {
        return Err("it is not ready");
    }
    match &newest.network {
        Some(network) if network.host != want.host_network => Err("its network mode has changed"),
        Some(network) if !network.host && network.ips.is_empty() => Err("it has no address"),
        _ => Ok(newest),
    }
}

/// Makes a sandbox, after everything that lives in older ones has ended and they are stopped.
pub(super) fn replace(draft: &mut Draft<'_>, want: &PodWant, what: &'static str, ready: bool) {
    let view = draft.view;
    if let Some(making) = view
        .running
        .iter()
        .find(|each| matches!(each, Action::CreateSandbox { .. }))
    {
        first_images(draft, want, &Why::PodStarts);
        draft.list(making.clone(), Why::PodStarts);
        return;
    }
    let fresh = view.have.sandboxes.is_empty() && view.have.containers.is_empty();
    let why = if fresh && view.memory.gone.is_empty() {
        Why::PodStarts
    } else {
        Why::SandboxBroken { what }
    };
    let busy = view.have.containers.iter().any(|each| each.state.is_live()) || is_filling(draft);
    if busy {
        let now = draft.now;
        stop::wind_down(draft, &|_| now.plus(want.grace), &why);
        return;
    }
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
        return;
    }
    first_images(draft, want, &why);
    if ready {
        let attempt = view
            .have
            .sandboxes
            .first()
            .map_or(0, |each| each.attempt.saturating_add(1));
        draft.list(Action::CreateSandbox { attempt }, why);
    }
}

/// A container is being made in a sandbox that is about to go: its result is waited for.
fn is_filling(draft: &Draft<'_>) -> bool {
    draft.view.running.iter().any(|action| {
        matches!(
            action,
            Action::CreateContainer { .. } | Action::StartContainer { .. }
        )
    })
}

/// Images of the containers that will start first are fetched beside everything else.
fn first_images(draft: &mut Draft<'_>, want: &PodWant, why: &Why) {
    if matches!(draft.view.memory.devices, DeviceState::Refused { .. }) {
        return;
    }
    let first: &[ContainerWant] = want.init.get(..1).unwrap_or(&want.containers);
    for container in first {
        if run::is_due(draft, want, container) {
            run::image(draft, container, why.clone());
        }
    }
}
