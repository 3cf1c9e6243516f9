//! Pods on the board.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_core::{
    ContainerId, ContainerName, ContainerState, ContainerStatus, Life, Phase, PodName, PodStatus,
    PodUid, Terminated, Time,
};
use agent_loops::PodSnapshot;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

/// `ns/<name>` with UID `uid-<name>`; the manifest has the containers that there is a status of.
pub(crate) fn pod(name: &str, containers: Vec<ContainerStatus>) -> Arc<PodSnapshot> {
    let manifest = Pod {
        spec: Some(PodSpec {
            containers: containers
                .iter()
                .map(|each| Container {
                    name: each.name.to_string(),
                    tty: Some(each.name.as_str() == "terminal"),
                    ..Container::default()
                })
                .collect(),
            ..PodSpec::default()
        }),
        ..Pod::default()
    };
    Arc::new(PodSnapshot {
        uid: PodUid::new(format!("uid-{name}")),
        name: PodName::new("ns", name),
        manifest: Some(Arc::new(manifest)),
        life: Life::Running,
        status: PodStatus {
            phase: Phase::Running,
            reason: String::new(),
            message: String::new(),
            ready: true,
            initialized: true,
            ips: Vec::new(),
            started_at: Time(0),
            init: Vec::new(),
            containers,
            ephemeral: Vec::new(),
            sandbox_ready: true,
            restarting_all: false,
            ending: false,
        },
        steps: Vec::new(),
        queued: false,
        failures: BTreeMap::new(),
        grants: Arc::default(),
    })
}

fn status(name: &str, id: Option<&str>, attempt: u32, state: ContainerState) -> ContainerStatus {
    ContainerStatus {
        name: ContainerName::new(name),
        image: "image".to_owned(),
        image_id: String::new(),
        user: None,
        id: id.map(ContainerId::new),
        state,
        last: None,
        ready: true,
        started: true,
        restart_count: attempt,
    }
}

pub(crate) fn running(name: &str, id: &str, attempt: u32) -> ContainerStatus {
    let state = ContainerState::Running {
        started_at: Time(0),
    };
    status(name, Some(id), attempt, state)
}

pub(crate) fn ended(name: &str, id: &str, attempt: u32) -> ContainerStatus {
    let state = ContainerState::Terminated(terminated(id));
    status(name, Some(id), attempt, state)
}

/// Waits with `reason`; `last` is the instance before, `id` the present one.
pub(crate) fn waiting(
    name: &str,
    reason: &str,
    id: Option<&str>,
    last: Option<&str>,
    attempt: u32,
) -> ContainerStatus {
    let state = ContainerState::Waiting {
        reason: reason.to_owned(),
        message: String::new(),
    };
    ContainerStatus {
        last: last.map(terminated),
        ..status(name, id, attempt, state)
    }
}

fn terminated(id: &str) -> Terminated {
    Terminated {
        exit_code: 0,
        reason: "Completed".to_owned(),
        message: String::new(),
        started_at: None,
        finished_at: Time(0),
        id: ContainerId::new(id),
    }
}
