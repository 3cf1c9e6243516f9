//! Which instance of a container counts.

use crate::have::{ContainerHave, PodHave};
use crate::ids::{ContainerId, ContainerName, SandboxId};
use crate::memory::PodMemory;

/// The last instance of a container, shown by the runtime or remembered.
pub(crate) fn newest<'a>(
    have: &'a PodHave,
    memory: &'a PodMemory,
    name: &ContainerName,
) -> Option<&'a ContainerHave> {
    last(instances(have, memory, name))
}

/// The last instance that lives or lived, this one left out.
pub(crate) fn newest_but<'a>(
    have: &'a PodHave,
    memory: &'a PodMemory,
    name: &ContainerName,
    but: &ContainerId,
) -> Option<&'a ContainerHave> {
    last(instances(have, memory, name).filter(|each| each.id != *but))
}

/// The last instance that lives or lived in this sandbox.
pub(crate) fn newest_in<'a>(
    have: &'a PodHave,
    memory: &'a PodMemory,
    name: &ContainerName,
    sandbox: &SandboxId,
) -> Option<&'a ContainerHave> {
    last(instances(have, memory, name).filter(|each| is_in(each, sandbox)))
}

/// The newest sandbox that has held a container; when none is left, the one that the newest container
/// was in.
pub(crate) fn newest_used_sandbox<'a>(
    have: &'a PodHave,
    memory: &'a PodMemory,
) -> Option<&'a SandboxId> {
    let containers = || have.containers.iter().chain(memory.gone.values());
    let sandboxes = have.sandboxes.iter().map(|each| &each.id);
    let mut used = sandboxes.filter(|id| containers().any(|each| is_in(each, id)));
    let last = containers().max_by_key(|each| (each.created_at, &each.id));
    used.next().or_else(|| last?.sandbox.as_ref())
}

/// Whether the container is one of this sandbox's. A runtime that does not tell counts as yes.
pub(crate) fn is_in(container: &ContainerHave, sandbox: &SandboxId) -> bool {
    container.sandbox.as_ref().is_none_or(|id| id == sandbox)
}

fn instances<'a>(
    have: &'a PodHave,
    memory: &'a PodMemory,
    name: &ContainerName,
) -> impl Iterator<Item = &'a ContainerHave> {
    let gone = memory.gone.get(name);
    have.containers
        .iter()
        .filter(move |each| each.name == *name)
        .chain(gone)
}

/// The last ended instance of the same name before this one.
pub(crate) fn newest_dead_before<'a>(
    have: &'a PodHave,
    memory: &'a PodMemory,
    instance: &ContainerHave,
) -> Option<&'a ContainerHave> {
    let key = |each: &'a ContainerHave| (each.attempt, each.created_at, &each.id);
    instances(have, memory, &instance.name)
        .filter(|each| each.exit.is_some() && each.id != instance.id)
        .filter(|each| (each.attempt, each.created_at) <= (instance.attempt, instance.created_at))
        .max_by_key(|each| key(each))
}

/// The order of instances: by attempt, then by age, then by name so that it is total.
fn last<'a>(instances: impl Iterator<Item = &'a ContainerHave>) -> Option<&'a ContainerHave> {
    instances.max_by_key(|each| (each.attempt, each.created_at, &each.id))
}
