//! Started and ready: what probes and hooks say about a container instance.

use crate::have::{ContainerHave, RunState};
use crate::view::{PodView, ProbeResults};
use crate::want::ContainerWant;

/// Verdicts of the instance's probes.
pub(crate) fn verdicts(view: &PodView<'_>, instance: &ContainerHave) -> ProbeResults {
    view.probes.get(&instance.id).copied().unwrap_or_default()
}

/// Whether it was running before this agent began, and so is as it was until a probe says otherwise.
fn is_adopted(view: &PodView<'_>, instance: &ContainerHave) -> bool {
    view.memory.adopted.contains(&instance.id)
}

/// Its postStart hook has run, or it has none.
pub(crate) fn post_start_over(
    view: &PodView<'_>,
    container: &ContainerWant,
    instance: &ContainerHave,
) -> bool {
    container.post_start.is_none()
        || matches!(view.memory.post_start.get(&instance.id), Some(Ok(())))
}

/// It runs, its hook is over, its startup probe has passed: the next init container may start.
pub(crate) fn is_started(
    view: &PodView<'_>,
    container: &ContainerWant,
    instance: &ContainerHave,
) -> bool {
    let passed = match verdicts(view, instance).startup {
        _ if container.probes.startup.is_none() => true,
        Some(verdict) => verdict,
        None => is_adopted(view, instance),
    };
    instance.state == RunState::Running && passed && post_start_over(view, container, instance)
}

/// It is started and its readiness probe has passed.
pub(crate) fn is_ready(
    view: &PodView<'_>,
    container: &ContainerWant,
    instance: &ContainerHave,
) -> bool {
    let passed = match verdicts(view, instance).readiness {
        _ if container.probes.readiness.is_none() => true,
        Some(verdict) => verdict,
        None => is_adopted(view, instance),
    };
    passed && is_started(view, container, instance)
}
