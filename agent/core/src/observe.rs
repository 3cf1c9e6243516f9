//! Merging what the runtime shows into what is known of a pod.
//!
//! News may be late, doubled or out of order: states only move forward, details once known stay, and
//! only a whole look that began after something was seen can tell that it is gone.

use crate::have::{ContainerHave, Exit, Observation, PodHave, RunState, SandboxHave};
use crate::ids::{ContainerId, SandboxId};
use crate::memory::{Instance, PodMemory};
use crate::time::Time;

/// Exit code for a container whose end nobody saw (Kubernetes: 137, as if killed).
const UNKNOWN_EXIT: i32 = 137;

/// Takes one look into account.
pub fn observe(have: &mut PodHave, memory: &mut PodMemory, seen: &Observation) {
    for sandbox in &seen.have.sandboxes {
        let instance = Instance::Sandbox(sandbox.id.clone());
        if memory.removed.contains_key(&instance) {
            continue;
        }
        match have
            .sandboxes
            .iter_mut()
            .find(|known| known.id == sandbox.id)
        {
            Some(known) => merge_sandbox(known, sandbox),
            // A whole look that began later would have shown it.
            None if seen.at < memory.whole_at => continue,
            None => have.sandboxes.push(sandbox.clone()),
        }
        first_seen(memory, instance, seen.at);
    }
    for container in &seen.have.containers {
        let instance = Instance::Container(container.id.clone());
        if memory.removed.contains_key(&instance) {
            continue;
        }
        match have
            .containers
            .iter_mut()
            .find(|known| known.id == container.id)
        {
            Some(known) => merge_container(known, container),
            None if seen.at < memory.whole_at => {
                remember_gone(memory, container.clone(), memory.whole_at);
                continue;
            }
            None => {
                // It had been missing from a whole look, but it is there.
                memory.gone.retain(|_, gone| gone.id != container.id);
                have.containers.push(container.clone());
            }
        }
        first_seen(memory, instance, seen.at);
        if container.state == RunState::Exited {
            memory.ended.entry(container.id.clone()).or_insert(seen.at);
        }
    }
    if seen.whole {
        drop_missing(have, memory, seen);
    }
    have.sandboxes.sort_by(|one, other| {
        other
            .attempt
            .cmp(&one.attempt)
            .then_with(|| other.created_at.cmp(&one.created_at))
    });
    memory.prune(have);
}

/// Takes a container out, after an action removed it or found it missing.
pub(crate) fn forget_container(
    have: &mut PodHave,
    memory: &mut PodMemory,
    id: &ContainerId,
    now: Time,
) {
    memory.removed.insert(Instance::Container(id.clone()), now);
    for container in have.containers.extract_if(.., |each| each.id == *id) {
        remember_gone(memory, container, now);
    }
}

/// Takes a sandbox out, with every container in it, as the runtime does.
pub(crate) fn forget_sandbox(
    have: &mut PodHave,
    memory: &mut PodMemory,
    id: &SandboxId,
    now: Time,
) {
    memory.removed.insert(Instance::Sandbox(id.clone()), now);
    have.sandboxes.retain(|each| each.id != *id);
    for container in have
        .containers
        .extract_if(.., |each| each.sandbox.as_ref() == Some(id))
    {
        memory
            .removed
            .insert(Instance::Container(container.id.clone()), now);
        remember_gone(memory, container, now);
    }
}

fn first_seen(memory: &mut PodMemory, instance: Instance, at: Time) {
    let first = memory.seen.entry(instance).or_insert(at);
    *first = at.min(*first);
}

fn drop_missing(have: &mut PodHave, memory: &mut PodMemory, seen: &Observation) {
    let older = |memory: &PodMemory, instance: &Instance| {
        memory
            .seen
            .get(instance)
            .is_none_or(|first| *first < seen.at)
    };
    have.sandboxes.retain(|known| {
        seen.have.sandboxes.iter().any(|each| each.id == known.id)
            || !older(memory, &Instance::Sandbox(known.id.clone()))
    });
    let missing = have.containers.extract_if(.., |known| {
        !seen.have.containers.iter().any(|each| each.id == known.id)
            && older(memory, &Instance::Container(known.id.clone()))
    });
    for container in missing.collect::<Vec<_>>() {
        remember_gone(memory, container, seen.at);
    }
    memory.whole_at = memory.whole_at.max(seen.at);
    memory
        .removed
        .retain(|_, removed_at| *removed_at >= seen.at);
}

/// Keeps the last instance of a name, so that restart count, exit and phase survive it.
fn remember_gone(memory: &mut PodMemory, mut container: ContainerHave, at: Time) {
    let known = memory.gone.get(&container.name);
    // A late look at one that is known to be gone has nothing to add.
    if known.is_some_and(|known| {
        known.id == container.id
            || (known.attempt, known.created_at) > (container.attempt, container.created_at)
    }) {
        return;
    }
    // One that never ran has no end to tell.
    if container.state != RunState::Created && container.exit.is_none() {
        container.exit = Some(unknown_exit(at));
        container.state = RunState::Exited;
    }
    if container.state == RunState::Exited {
        memory.ended.entry(container.id.clone()).or_insert(at);
    }
    memory.gone.insert(container.name.clone(), container);
}

/// End of a container whose end nobody saw.
fn unknown_exit(at: Time) -> Exit {
    Exit {
        code: UNKNOWN_EXIT,
        reason: "ContainerStatusUnknown".to_owned(),
        message: "The container is not known to the runtime any more; how it ended is unknown"
            .to_owned(),
        finished_at: at,
    }
}

fn merge_sandbox(known: &mut SandboxHave, seen: &SandboxHave) {
    known.ready &= seen.ready;
    known.created_at = known.created_at.min(seen.created_at);
    let better = |network: &crate::have::SandboxNetwork| network.host || !network.ips.is_empty();
    if known.network.as_ref().is_none_or(|known| !better(known)) && seen.network.is_some() {
        known.network.clone_from(&seen.network);
    }
}

fn merge_container(known: &mut ContainerHave, seen: &ContainerHave) {
    known.state = known.state.max(seen.state);
    known.created_at = known.created_at.min(seen.created_at);
    known.started_at = match (known.started_at, seen.started_at) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    if known.sandbox.is_none() {
        known.sandbox.clone_from(&seen.sandbox);
    }
    if known.exit.is_none() {
        known.exit.clone_from(&seen.exit);
    }
    if known.hash.is_empty() {
        known.hash.clone_from(&seen.hash);
    }
    if known.image_id.is_empty() {
        known.image_id.clone_from(&seen.image_id);
    }
    if known.user.is_none() {
        known.user.clone_from(&seen.user);
    }
    if known.recovered.grace.is_none() {
        known.recovered.grace = seen.recovered.grace;
    }
    if known.recovered.pre_stop.is_none() {
        known
            .recovered
            .pre_stop
            .clone_from(&seen.recovered.pre_stop);
    }
}

#[cfg(test)]
mod tests;
