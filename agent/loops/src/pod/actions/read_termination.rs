//! `ReadTermination`: what a container left as its last words.

use agent_core::{ContainerName, Outcome};

use super::{Answer, Gain, Job};

pub(super) async fn run(job: &Job, name: &ContainerName) -> Answer {
    let instance = job.instance.as_ref();
    let attempt = instance.map_or(0, |instance| instance.attempt);
    let failed = instance
        .and_then(|instance| instance.exit.as_ref())
        .is_some_and(|exit| exit.code != 0);
    let host = &job.around.doors.host;
    let text = host
        .termination_message(job.want()?, name, attempt, failed)
        .await?;
    Ok((Outcome::Text(text), Gain::Nothing))
}
