//! `PrepareHost`: directories, cgroup and volumes.

use std::sync::Arc;

use agent_core::Outcome;

use super::{Answer, Gain, Job};

pub(super) async fn run(job: &Job) -> Answer {
    match job.around.doors.host.prepare_pod(job.want()?).await {
        Ok(prepared) => Ok((Outcome::Done, Gain::Prepared(Arc::new(prepared)))),
        Err(fail) => {
            job.around
                .events
                .warning(job.pod(), fail.reason, fail.message.clone());
            Err(fail)
        }
    }
}
