//! `RemoveLogs`: the pod's log directory.

use super::{Answer, Job, done};

pub(super) async fn run(job: &Job) -> Answer {
    job.around
        .doors
        .host
        .remove_logs(&job.log_owner(), None)
        .await?;
    done()
}
