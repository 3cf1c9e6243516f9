//! What the keeper tells, put into the agent's books: events and present problems.

use agent_core::PodUid;
use agent_loops::{Area, EventKind, ProblemBoard, Subject, Telling};
use gpu_keeper::{GpuSnapshot, Keeper, Notice};
use tokio::sync::broadcast::error::RecvError;

use crate::devices;

/// Relays from now on, until the keeper ends.
pub(crate) fn relay(keeper: &Keeper, telling: &Telling) {
    let (mut notices, events) = (keeper.notices(), telling.events.clone());
    drop(base_daemon::spawn("gpu notices", async move {
        loop {
            match notices.recv().await {
                Ok(notice) => {
                    let (kind, subject) = (kind(&notice), subject(&notice));
                    let why = Some(notice.why).filter(|why| !why.is_empty());
                    events.record(kind, subject, notice.reason, notice.message, why);
                }
                // What they said is in the snapshot, too.
                Err(RecvError::Lagged(missed)) => tracing::warn!(missed, "GPU notices missed"),
                Err(RecvError::Closed) => return,
            }
        }
    }));
    let (mut snapshots, board) = (keeper.snapshots(), telling.problems.clone());
    drop(base_daemon::spawn("gpu problems", async move {
        while snapshots.changed().await.is_ok() {
            show(&snapshots.borrow_and_update(), &board);
        }
    }));
}

fn show(snapshot: &GpuSnapshot, board: &ProblemBoard) {
    let problems = snapshot.problems.iter();
    board.replace(
        Area::Devices,
        problems
            .map(|each| (each.subject.clone(), each.message.clone()))
            .collect(),
    );
}

fn kind(notice: &Notice) -> EventKind {
    if notice.warning {
        EventKind::Warning
    } else {
        EventKind::Normal
    }
}

fn subject(notice: &Notice) -> Subject {
    match &notice.subject {
        gpu_keeper::Subject::Node => Subject::Node,
        gpu_keeper::Subject::Gpu(gpu) => Subject::Part(gpu.as_str().to_owned()),
        gpu_keeper::Subject::Owner(owner) => Subject::Pod {
            uid: PodUid::new(&owner.id.0),
            name: devices::pod_name(owner),
        },
    }
}
