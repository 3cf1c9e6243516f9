//! `StartContainer`: the container's first process.

use agent_core::{ContainerId, ContainerName};

use super::{Answer, Job, done};

pub(super) async fn run(job: &Job, name: &ContainerName, id: &ContainerId) -> Answer {
    let about = job.about(name);
    match job.around.doors.runtime.start_container(id).await {
        Ok(()) => {
            job.around
                .events
                .normal(about, "Started", "Container started");
            done()
        }
        Err(fail) => Err(job.told(about, "Failed", "Error", fail)),
    }
}
