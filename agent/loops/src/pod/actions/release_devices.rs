//! `ReleaseDevices`: everything the pod holds goes back.

use super::{Answer, Job, done};

pub(super) async fn run(job: &Job) -> Answer {
    job.around.doors.devices.release(&job.uid).await;
    done()
}
