//! `CreateSandbox`: network and pause process.

use agent_core::Outcome;

use super::{Answer, Gain, Job};
use crate::ports::SandboxSpec;

pub(super) async fn run(job: &Job, attempt: u32) -> Answer {
    let spec = SandboxSpec {
        pod: job.want()?.clone(),
        attempt,
        prepared: job.prepared().await?,
        references: job.references().await?,
    };
    match job.around.doors.runtime.run_sandbox(&spec).await {
        Ok(id) => Ok((Outcome::Sandbox(id), Gain::Nothing)),
        Err(fail) => {
            let text = "Failed to create pod sandbox";
            Err(job.told(job.pod(), "FailedCreatePodSandBox", text, fail))
        }
    }
}
