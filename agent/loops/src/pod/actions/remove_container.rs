//! `RemoveContainer` and `ClearContainer`: a dead container, with or without its log file.

use agent_core::{ContainerId, ContainerName};

use super::{Answer, Job, done};

pub(super) async fn run(job: &Job, name: &ContainerName, id: &ContainerId, attempt: u32) -> Answer {
    // The log goes first: once the container is gone nobody would know that it had one.
    job.around
        .doors
        .host
        .remove_logs(&job.log_owner(), Some((name, attempt)))
        .await?;
    job.around.doors.runtime.remove_container(id).await?;
    done()
}

pub(super) async fn keep_log(job: &Job, id: &ContainerId) -> Answer {
    job.around.doors.runtime.remove_container(id).await?;
    done()
}
