//! `CleanHost`: volumes, cgroup and directories of the pod.

use super::{Answer, Job, done};

pub(super) async fn run(job: &Job) -> Answer {
    match job.around.doors.host.clean_pod(&job.uid).await {
        Ok(()) => done(),
        Err(fail) => {
            job.around
                .events
                .warning(job.pod(), fail.reason, fail.message.clone());
            Err(fail)
        }
    }
}
