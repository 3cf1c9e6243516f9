//! Applying actions: what the next decision must know before the runtime tells it.

use std::time::Duration;

use crate::fail::{Fail, FailKind};
use crate::have::{ContainerHave, Observation, PodHave, Recovered, RunState, SandboxHave};
use crate::ids::{ContainerId, ContainerName, SandboxId};
use crate::instances::newest_but;
use crate::memory::{Backoff, DeviceState, Failure, Instance, PodMemory};
use crate::observe::{forget_container, forget_sandbox, observe};
use crate::plan::Action;
use crate::time::Time;
use crate::view::Rules;

/// How an action ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, with nothing more to tell.
    Done,
    /// `PrepareHost` and `RefreshVolumes`: done, and when contents of volumes have to be renewed.
    Prepared {
        /// `None`: not before something changes.
        refresh_at: Option<Time>,
    },
    /// `CreateSandbox`: its identity.
    Sandbox(SandboxId),
    /// `CreateContainer`: its identity.
    Container(ContainerId),
    /// `EnsureImage`: the reference to use in the next `CreateContainer`.
    Image(String),
    /// `ReadTermination`: the message.
    Text(String),
    /// `HoldDevices`: where they stand now. It answers at once, also when the pod has to wait.
    Devices(DeviceState),
    /// `InspectPod`: what was seen.
    Observed(Box<Observation>),
    /// It failed.
    Failed(Fail),
}

/// First delay before a failed action is tried again, doubling to `RETRY_CAP`.
const RETRY_BASE: Duration = Duration::from_secs(1);
/// Kubernetes 1.37: a failed sync of a pod is tried again after 10 s.
const RETRY_CAP: Duration = Duration::from_secs(10);
/// Kubernetes 1.37: image pulls back off from 10 s, doubling to 300 s.
const PULL_BASE: Duration = Duration::from_secs(10);
/// See `PULL_BASE`.
const PULL_CAP: Duration = Duration::from_secs(300);

/// Takes note that an action is about to begin. To be called before it runs.
pub fn begin(memory: &mut PodMemory, action: &Action) {
    match action {
        Action::HoldDevices => memory.devices_changed = false,
        // Whatever changes from here on is not in what is being written.
        Action::PrepareHost | Action::RefreshVolumes => memory.references_changed = false,
        Action::PreStop { id, deadline, .. } | Action::StopContainer { id, deadline, .. } => {
            let promised = memory.stopping.entry(id.clone()).or_insert(*deadline);
            *promised = (*deadline).min(*promised);
        }
        _ => {}
    }
}

/// Applies how an action ended. To be called right after it, and before the next decision.
pub fn record(
    have: &mut PodHave,
    memory: &mut PodMemory,
    action: &Action,
    outcome: Outcome,
    now: Time,
    rules: &Rules,
) {
    match outcome {
        Outcome::Failed(fail) => failed(have, memory, action, fail, now),
        outcome => {
            memory.failures.remove(action);
            succeeded(have, memory, action, outcome, now, rules);
        }
    }
    memory.prune(have);
}

fn succeeded(
    have: &mut PodHave,
    memory: &mut PodMemory,
    action: &Action,
    outcome: Outcome,
    now: Time,
    rules: &Rules,
) {
    match (action, outcome) {
        (Action::HoldDevices, Outcome::Devices(devices)) => hold(memory, devices, now),
        (Action::EnsureImage { container }, Outcome::Image(reference)) => {
            memory.images.insert(container.clone(), reference);
        }
        (Action::CreateSandbox { attempt }, Outcome::Sandbox(id)) => {
            memory
                .failures
                .retain(|action, _| !matches!(action, Action::CreateSandbox { .. }));
            add_sandbox(have, memory, id, *attempt, now);
        }
        (
            Action::CreateContainer {
                container,
                attempt,
                sandbox,
            },
            Outcome::Container(id),
        ) => {
            step_backoff(have, memory, (container, &id), now, rules);
            memory.images.remove(container);
            memory.failures.retain(|action, _| {
                !matches!(action, Action::CreateContainer { container: other, .. } if other == container)
            });
            let made = (container.clone(), *attempt, sandbox.clone());
            add_container(have, memory, id, made, now);
        }
        (Action::InspectPod, Outcome::Observed(seen)) => {
            observe(have, memory, &seen);
            if lacks_details(have) {
                let message =
                    "the runtime does not tell the network or the ends of the pod's containers";
                let fail = Fail::retry("DetailsMissing", message);
                failed(have, memory, action, fail, now);
            }
        }
        (Action::ReadTermination { id, .. }, Outcome::Text(text)) => {
            memory.messages.insert(id.clone(), text);
        }
        (Action::PrepareHost | Action::RefreshVolumes, Outcome::Prepared { refresh_at }) => {
            memory.host_prepared = true;
            memory.refresh_at = refresh_at;
        }
        (action, Outcome::Done) => done(have, memory, action, now),
        // An answer of the wrong kind changes nothing; the action is listed again.
        _ => {}
    }
}

fn done(have: &mut PodHave, memory: &mut PodMemory, action: &Action, now: Time) {
    match action {
        Action::StartContainer { id, .. } => {
            if let Some(container) = have.containers.iter_mut().find(|each| each.id == *id) {
                container.state = container.state.max(RunState::Running);
                container.started_at.get_or_insert(now);
            }
        }
        Action::PostStart { id, .. } => {
            memory.post_start.insert(id.clone(), Ok(()));
        }
        Action::PreStop { id, .. } => {
            memory.pre_stop.insert(id.clone());
        }
        Action::StopContainer { id, .. } => {
            end_containers(have, memory, |each| each.id == *id, now)
        }
        Action::RemoveContainer { id, .. } => forget_container(have, memory, id, now),
        Action::ClearContainer { container, id } => clear(have, memory, container, id, now),
        Action::StopSandbox { id } => {
            memory.stopped.insert(id.clone());
            if let Some(sandbox) = have.sandboxes.iter_mut().find(|each| each.id == *id) {
                sandbox.ready = false;
            }
            // The runtime ends what still lives in a sandbox before it stops it.
            end_containers(have, memory, |each| each.sandbox.as_ref() == Some(id), now);
        }
        Action::RemoveSandbox { id } => forget_sandbox(have, memory, id, now),
        Action::CleanHost => {
            memory.host_cleaned = true;
            memory.host_prepared = false;
        }
        Action::ReleaseDevices => memory.devices = DeviceState::Released,
        Action::RemoveLogs => memory.logs_removed = true,
        // These end with an outcome of their own.
        Action::HoldDevices
        | Action::PrepareHost
        | Action::RefreshVolumes
        | Action::EnsureImage { .. }
        | Action::CreateSandbox { .. }
        | Action::CreateContainer { .. }
        | Action::InspectPod
        | Action::ReadTermination { .. } => {}
    }
}

fn failed(have: &mut PodHave, memory: &mut PodMemory, action: &Action, fail: Fail, now: Time) {
    match (action, fail.kind) {
        // A hook is not tried again: a bad postStart ends the container, a bad preStop nothing.
        (Action::PostStart { id, .. }, _) => {
            memory.post_start.insert(id.clone(), Err(fail.message));
            return;
        }
        (Action::PreStop { id, .. }, _) => {
            memory.pre_stop.insert(id.clone());
            return;
        }
        // A message that cannot be read is an empty one.
        (Action::ReadTermination { id, .. }, _) => {
            memory.messages.insert(id.clone(), String::new());
            return;
        }
        (Action::StartContainer { id, .. } | Action::StopContainer { id, .. }, FailKind::Gone) => {
            forget_container(have, memory, id, now);
            return;
        }
        (Action::CreateContainer { sandbox, .. }, FailKind::Gone) => {
            forget_sandbox(have, memory, sandbox, now);
            return;
        }
        (Action::StopSandbox { id }, FailKind::Gone) => {
            forget_sandbox(have, memory, id, now);
            return;
        }
        (
            Action::RemoveContainer { .. }
            | Action::ClearContainer { .. }
            | Action::RemoveSandbox { .. }
            | Action::CleanHost
            | Action::ReleaseDevices
            | Action::RemoveLogs,
            FailKind::Gone,
        ) => {
            memory.failures.remove(action);
            done(have, memory, action, now);
            return;
        }
        // Its image may have been taken away since it was made sure of.
        (Action::CreateContainer { container, .. }, _) => {
            memory.images.remove(container);
        }
        _ => {}
    }
    let count = memory
        .failures
        .get(action)
        .map_or(0, |failure| failure.count)
        .saturating_add(1);
    let retry_at = now.plus(retry_delay(action, fail.kind, count));
    memory.failures.insert(
        action.clone(),
        Failure {
            fail,
            at: now,
            count,
            retry_at,
        },
    );
}

fn retry_delay(action: &Action, kind: FailKind, count: u32) -> Duration {
    let (base, cap) = match (action, kind) {
        (Action::EnsureImage { .. }, _) => (PULL_BASE, PULL_CAP),
        (_, FailKind::Permanent) => (RETRY_CAP, RETRY_CAP),
        _ => (RETRY_BASE, RETRY_CAP),
    };
    let doublings = count.saturating_sub(1).min(16);
    base.saturating_mul(1 << doublings).min(cap)
}

fn hold(memory: &mut PodMemory, devices: DeviceState, now: Time) {
    memory.devices_since = match devices {
        DeviceState::Waiting { .. } => memory.devices_since.or(Some(now)),
        _ => None,
    };
    let waited = matches!(
        memory.devices,
        DeviceState::Waiting { .. } | DeviceState::Refused { .. }
    );
    if waited && devices == DeviceState::Held {
        // The wait may have been long: an image made sure of before it may be gone or old.
        memory.images.clear();
    }
    memory.devices = devices;
}

fn add_sandbox(have: &mut PodHave, memory: &mut PodMemory, id: SandboxId, attempt: u32, now: Time) {
    // The runtime's own event may have been faster.
    if have.sandboxes.iter().any(|each| each.id == id) {
        return;
    }
    memory.seen.insert(Instance::Sandbox(id.clone()), now);
    let made = SandboxHave {
        id,
        attempt,
        ready: true,
        created_at: now,
        network: None,
    };
    have.sandboxes.insert(0, made);
}

fn add_container(
    have: &mut PodHave,
    memory: &mut PodMemory,
    id: ContainerId,
    (name, attempt, sandbox): (ContainerName, u32, SandboxId),
    now: Time,
) {
    if let Some(known) = have.containers.iter_mut().find(|each| each.id == id) {
        known.sandbox = Some(sandbox);
        return;
    }
    memory.seen.insert(Instance::Container(id.clone()), now);
    have.containers.push(ContainerHave {
        id,
        name,
        sandbox: Some(sandbox),
        attempt,
        hash: String::new(),
        state: RunState::Created,
        created_at: now,
        started_at: None,
        exit: None,
        image_id: String::new(),
        user: None,
        recovered: Recovered::default(),
    });
}

/// Takes a container out that begins anew. It is remembered outside of any sandbox, so that the init
/// containers run again, and with the stock kubelet's reason if it was the restart that ended it.
fn clear(
    have: &mut PodHave,
    memory: &mut PodMemory,
    container: &ContainerName,
    id: &ContainerId,
    now: Time,
) {
    let killed = memory.stopping.contains_key(id);
    forget_container(have, memory, id, now);
    let Some(gone) = memory.gone.get_mut(container).filter(|gone| gone.id == *id) else {
        return;
    };
    gone.sandbox = Some(SandboxId::new(""));
    if let Some(exit) = gone.exit.as_mut().filter(|_| killed) {
        "RestartingAllContainers".clone_into(&mut exit.reason);
        exit.code = 137;
    }
    memory.begins_anew.insert(id.clone());
}

fn end_containers(
    have: &mut PodHave,
    memory: &mut PodMemory,
    ends: impl Fn(&ContainerHave) -> bool,
    now: Time,
) {
    for container in have.containers.iter_mut().filter(|each| ends(each)) {
        if container.state.is_live() {
            container.state = RunState::Exited;
            memory.ended.entry(container.id.clone()).or_insert(now);
        }
    }
}

/// A restart doubles the delay of the next one; a container that ran long begins anew. The runtime may
/// have told of the new instance already, and even of its end, before it answered the creation.
fn step_backoff(
    have: &PodHave,
    memory: &mut PodMemory,
    (container, created): (&ContainerName, &ContainerId),
    now: Time,
    rules: &Rules,
) {
    let Some(last) = newest_but(have, memory, container, created) else {
        return;
    };
    if last.state != RunState::Exited {
        return;
    }
    let ended = memory.ended.get(&last.id).copied().unwrap_or(now);
    let delay = match memory.backoff.get(container) {
        Some(backoff) if !backoff.forgotten(ended) => backoff.delay.saturating_mul(2),
        _ => rules.backoff_base,
    };
    let delay = delay.min(rules.backoff_cap);
    memory.backoff.insert(
        container.clone(),
        Backoff {
            delay,
            stepped_at: now,
        },
    );
}

/// A ready sandbox without network, or an end without an exit code.
fn lacks_details(have: &PodHave) -> bool {
    have.sandboxes
        .iter()
        .any(|each| each.ready && each.network.is_none())
        || have
            .containers
            .iter()
            .any(|each| each.state == RunState::Exited && each.exit.is_none())
}

#[cfg(test)]
mod tests;
