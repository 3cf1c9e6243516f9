//! `StopContainer`: ask, wait for what is left of the grace period, kill.

use agent_core::{ContainerId, ContainerName, Time, stop_timeout};

use super::{Answer, Job, done};

pub(super) async fn run(
    job: &Job,
    name: &ContainerName,
    id: &ContainerId,
    deadline: Time,
) -> Answer {
    let grace = stop_timeout(deadline, job.around.now());
    match job.around.doors.runtime.stop_container(id, grace).await {
        Ok(()) => done(),
        Err(fail) => Err(job.told(job.about(name), "FailedKillPod", "error killing pod", fail)),
    }
}
