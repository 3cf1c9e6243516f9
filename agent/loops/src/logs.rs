//! Rotates the logs of running containers.

use std::sync::Arc;
use std::time::Duration;

use agent_core::{ContainerId, ContainerState, ContainerStatus, Fail, FailKind};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::around::Around;
use crate::events::Subject;
use crate::ports::LogOwner;
use crate::snapshot::{PodBoard, PodSnapshot};

/// Runs for ever. The runtime is called only after a file has been renamed.
pub(crate) async fn run(around: Arc<Around>, pods: watch::Receiver<Arc<PodBoard>>) {
    // Tokio has no interval of zero.
    let period = around.settings.log_interval.max(Duration::from_secs(1));
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let board = pods.borrow().clone();
        for pod in board.values() {
            rotate_pod(&around, pod).await;
        }
    }
}

async fn rotate_pod(around: &Around, pod: &PodSnapshot) {
    for container in pod.status.all() {
        let (ContainerState::Running { .. }, Some(id)) = (&container.state, &container.id) else {
            continue;
        };
        match rotate(around, pod, container, id).await {
            // A container that has ended meanwhile needs no rotation.
            Err(fail) if fail.kind != FailKind::Gone => {
                let (uid, name) = (pod.uid.clone(), pod.name.clone());
                let about = Subject::Container {
                    uid,
                    name,
                    container: container.name.clone(),
                };
                let message = format!("the log cannot be rotated: {}", fail.message);
                around.events.warning(about, "LogRotationFailed", message);
            }
            _ => {}
        }
    }
}

async fn rotate(
    around: &Around,
    pod: &PodSnapshot,
    container: &ContainerStatus,
    id: &ContainerId,
) -> Result<(), Fail> {
    let owner = LogOwner {
        namespace: pod.name.namespace.to_string(),
        name: pod.name.name.to_string(),
        uid: pod.uid.clone(),
    };
    let host = &around.doors.host;
    if host
        .rotate_log(&owner, &container.name, container.restart_count)
        .await?
    {
        around.doors.runtime.reopen_log(id).await?;
    }
    Ok(())
}
