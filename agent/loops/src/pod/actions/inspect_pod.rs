//! `InspectPod`: a look with every detail.

use agent_core::Outcome;

use super::{Answer, Gain, Job};

pub(super) async fn run(job: &Job) -> Answer {
    let seen = job.around.doors.runtime.observe(&job.uid).await?;
    Ok((Outcome::Observed(Box::new(seen)), Gain::Nothing))
}
