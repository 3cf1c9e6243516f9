//! `StopSandbox`: network down, pause process gone.

use agent_core::SandboxId;

use super::{Answer, Job, done};

pub(super) async fn run(job: &Job, id: &SandboxId) -> Answer {
    match job.around.doors.runtime.stop_sandbox(id).await {
        Ok(()) => done(),
        Err(fail) => Err(job.told(job.pod(), "FailedKillPod", "error killing pod", fail)),
    }
}
