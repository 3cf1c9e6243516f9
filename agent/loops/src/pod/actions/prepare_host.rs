//! `PrepareHost`: directories, cgroup and volumes.

use std::sync::Arc;

use agent_core::{Fail, Outcome, Time};

use super::{Answer, Gain, Job};
use crate::ports::PreparedPod;

pub(super) async fn run(job: &Job) -> Answer {
    match prepare(job).await {
        Ok((prepared, refresh_at)) => {
            for fail in &prepared.stale {
                warn(job, fail);
            }
            Ok((
                Outcome::Prepared { refresh_at },
                Gain::Prepared(Arc::new(prepared)),
            ))
        }
        Err(fail) => {
            warn(job, &fail);
            Err(fail)
        }
    }
}

fn warn(job: &Job, fail: &Fail) {
    let events = &job.around.events;
    events.warning(job.pod(), fail.reason, fail.message.clone());
}

async fn prepare(job: &Job) -> Result<(PreparedPod, Option<Time>), Fail> {
    let references = job.references().await?;
    let host = &job.around.doors.host;
    let prepared = host.prepare_pod(job.want()?, &references).await?;
    Ok((prepared, references.refresh_at))
}
