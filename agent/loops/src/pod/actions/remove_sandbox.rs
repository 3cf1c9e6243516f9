//! `RemoveSandbox`: a stopped sandbox with its dead containers.

use agent_core::SandboxId;

use super::{Answer, Job, done};

pub(super) async fn run(job: &Job, id: &SandboxId) -> Answer {
    job.around.doors.runtime.remove_sandbox(id).await?;
    done()
}
