//! Snapshots for tests, in a few words.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_core::{
    ContainerId, ContainerName, ContainerState, ContainerStatus, Life, Phase, PodName, PodStatus,
    PodUid, Terminated, Time,
};
use agent_loops::PodSnapshot;

use crate::pods::testing::pod;

/// A moment, in seconds since the epoch.
pub(crate) fn at(seconds: i64) -> Time {
    Time(seconds * 1_000_000_000)
}

/// A pod in this phase with one container `main` that fits it.
pub(crate) fn snapshot(phase: &str) -> PodSnapshot {
    let (phase, life, text) = match phase {
        "Pending" => (Phase::Pending, Life::Waiting, "main wait"),
        "Running" => (Phase::Running, Life::Running, "main.0 run"),
        "Succeeded" => (Phase::Succeeded, Life::Finished, "main.0 end=0"),
        "Failed" => (Phase::Failed, Life::Finished, "main.0 end=1"),
        other => panic!("{other}"),
    };
    let main = container(text);
    PodSnapshot {
        uid: PodUid::new("uid-a"),
        name: PodName::new("default", "a"),
        manifest: Some(Arc::new(pod("a", serde_json::json!({})))),
        life,
        status: PodStatus {
            phase,
            reason: String::new(),
            message: String::new(),
            ready: phase == Phase::Running,
            initialized: true,
            ips: vec!["10.0.0.5".to_owned()],
            started_at: at(5),
            init: Vec::new(),
            containers: vec![main],
            ephemeral: Vec::new(),
            sandbox_ready: phase == Phase::Running,
            restarting_all: false,
            ending: false,
        },
        steps: Vec::new(),
        queued: false,
        failures: BTreeMap::new(),
        grants: Arc::default(),
    }
}

/// A container from text: `main.2 run`, `main.0 run unready`, `main.1 end=3`, `main wait`,
/// `main wait=ErrImagePull`, and behind it `last=1`. The number is its instance.
pub(crate) fn container(text: &str) -> ContainerStatus {
    let mut words = text.split(' ');
    let name = words.next().unwrap();
    let (name, attempt) = match name.split_once('.') {
        Some((name, attempt)) => (name, Some(attempt.parse::<u32>().unwrap())),
        None => (name, None),
    };
    let id = |attempt: u32| ContainerId::new(format!("{name}{attempt}"));
    let ended = |code: &str, id: ContainerId| Terminated {
        exit_code: code.parse().unwrap(),
        reason: if code == "0" { "Completed" } else { "Error" }.to_owned(),
        message: String::new(),
        started_at: Some(at(10)),
        finished_at: at(20),
        id,
    };
    let state = words.next().unwrap();
    let state = match state.split_once('=').unwrap_or((state, "")) {
        ("run", _) => ContainerState::Running { started_at: at(10) },
        ("end", code) => ContainerState::Terminated(ended(code, id(attempt.unwrap()))),
        ("wait", reason) => ContainerState::Waiting {
            reason: if reason.is_empty() {
                "ContainerCreating"
            } else {
                reason
            }
            .to_owned(),
            message: String::new(),
        },
        other => panic!("{other:?}"),
    };
    let runs = matches!(state, ContainerState::Running { .. });
    let (mut ready, mut last) = (runs, None);
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("unready", _) => ready = false,
            ("ready", _) => ready = true,
            // One that waits for its next start has itself ended last.
            ("last", code) => {
                let before = attempt.map_or(0, |attempt| attempt - u32::from(runs));
                last = Some(ended(code, id(before)));
            }
            other => panic!("{other:?}"),
        }
    }
    ContainerStatus {
        name: ContainerName::new(name),
        image: "x:1".to_owned(),
        image_id: attempt.map_or_else(String::new, |_| "x@sha256:1".to_owned()),
        user: None,
        id: attempt.map(id),
        state,
        last,
        ready,
        started: runs,
        restart_count: attempt.unwrap_or(0),
    }
}
