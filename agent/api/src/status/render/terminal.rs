//! The end of a pod: when its phase may be final, and what becomes of containers that are not there.

use agent_core::{Life, Phase};
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateTerminated, ContainerStatus, PodStatus,
};

use super::history::UNKNOWN;
use super::{Scene, conditions, final_phase, phase_text, text};

/// Completes the statuses of a pod of which nothing will run any more, and tells its phase.
///
/// Kubernetes 1.37: who cannot be found counts as failed, except main containers of a pod that was
/// never initialized; and no pod leaves without a final phase, except static ones, which come back.
pub(super) fn end(scene: &Scene<'_>, status: &mut PodStatus) -> Phase {
    let phase = final_phase(scene.previous).unwrap_or(scene.snapshot.status.phase);
    if !matches!(scene.snapshot.life, Life::Finished | Life::Done) || is_refused(scene) {
        return phase;
    }
    if is_initialized(scene, status) {
        status
            .container_statuses
            .iter_mut()
            .flatten()
            .for_each(lose);
    }
    let init = status.init_container_statuses.get_or_insert_default();
    let begun = init
        .iter()
        .rposition(|each| !is_waiting(each) || has_last(each));
    let begun = begun.map_or(1, |last| last + 1);
    init.iter_mut().take(begun).for_each(lose);
    if init.is_empty() {
        status.init_container_statuses = None;
    }
    match phase {
        Phase::Pending | Phase::Running if !scene.is_static => Phase::Failed,
        phase => phase,
    }
}

/// Whether the node refused the pod, which shows nothing of containers then: they were never its.
pub(super) fn is_refused(scene: &Scene<'_>) -> bool {
    let own = &scene.snapshot.status;
    let (phase, message) = match final_phase(scene.previous) {
        Some(phase) => (phase, scene.previous.message.as_deref().unwrap_or_default()),
        None => (own.phase, own.message.as_str()),
    };
    let mut containers = own.init.iter().chain(&own.containers);
    phase == Phase::Failed
        && message.starts_with("Pod was rejected: ")
        && containers.all(|each| each.id.is_none())
}

/// Writes phase, reason and message. A final phase stays, and it is held back until no container can
/// run any more: who waits for the end of a pod may start what must not run beside it.
pub(super) fn settle_phase(scene: &Scene<'_>, status: &mut PodStatus, phase: Phase) {
    let previous = scene.previous;
    let own = &scene.snapshot.status;
    let is_final = |phase| matches!(phase, Phase::Succeeded | Phase::Failed);
    let over = matches!(
        scene.snapshot.life,
        Life::Cleaning | Life::Finished | Life::Done
    );
    if let Some(ended) = final_phase(previous) {
        // `status` has reason and message of the previous one.
        if ended == own.phase && previous.reason.is_none() && previous.message.is_none() {
            (status.reason, status.message) = (text(&own.reason), text(&own.message));
        }
    } else if is_final(phase) && !over {
        status.phase.get_or_insert_with(|| "Pending".to_owned());
    } else {
        status.phase = Some(phase_text(phase).to_owned());
        (status.reason, status.message) = (text(&own.reason), text(&own.message));
    }
    if final_phase(status).is_some() {
        conditions::not_ready(scene, status, phase);
    }
}

/// Whether a main container ever had its turn.
fn is_initialized(scene: &Scene<'_>, status: &PodStatus) -> bool {
    let Some(last) = scene.spec.init_containers.iter().flatten().last() else {
        return true;
    };
    let mut main = status.container_statuses.iter().flatten();
    let init = status.init_container_statuses.iter().flatten();
    let is_sidecar = last.restart_policy.as_deref() == Some("Always");
    main.any(|each| has_last(each) || !is_waiting(each))
        || init.filter(|each| each.name == last.name).any(|each| {
            let well = |state: &Option<ContainerState>| {
                let ended = state.as_ref().and_then(|state| state.terminated.as_ref());
                ended.is_some_and(|ended| ended.exit_code == 0)
            };
            let runs = each
                .state
                .as_ref()
                .is_some_and(|state| state.running.is_some());
            if is_sidecar {
                runs && each.started == Some(true)
            } else {
                well(&each.state) || well(&each.last_state)
            }
        })
}

fn is_waiting(status: &ContainerStatus) -> bool {
    let state = status.state.as_ref();
    state.is_none_or(|state| state.running.is_none() && state.terminated.is_none())
}

fn has_last(status: &ContainerStatus) -> bool {
    let last = status.last_state.as_ref();
    last.is_some_and(|last| last.terminated.is_some())
}

/// A container that cannot be found any more.
fn lose(status: &mut ContainerStatus) {
    let ended = |state: &ContainerState| state.terminated.is_some();
    if status.state.as_ref().is_some_and(ended) {
        return;
    }
    status.ready = false;
    status.started = Some(false);
    status.state = Some(ContainerState {
        terminated: Some(ContainerStateTerminated {
            exit_code: 137,
            reason: Some(UNKNOWN.to_owned()),
            message: Some(
                "The container could not be located when the pod was terminated".to_owned(),
            ),
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    });
}
