//! `ReadTermination`: what a container left as its last words.

use std::time::Duration;

use agent_core::{ContainerName, Fail, Outcome};
use tokio::time::timeout;

use super::{Answer, Gain, Job};

/// The pod's status waits for it, and must not wait for a file system that hangs.
const LIMIT: Duration = Duration::from_secs(2);

pub(super) async fn run(job: &Job, name: &ContainerName) -> Answer {
    let instance = job.instance.as_ref();
    let attempt = instance.map_or(0, |instance| instance.attempt);
    let failed = instance
        .and_then(|instance| instance.exit.as_ref())
        .is_some_and(|exit| exit.code != 0);
    let host = &job.around.doors.host;
    let read = host.termination_message(job.want()?, name, attempt, failed);
    let text = timeout(LIMIT, read).await.map_err(|_| {
        let message = format!("the termination message of {name} cannot be read in {LIMIT:?}");
        Fail::retry("TerminationMessage", message)
    })??;
    Ok((Outcome::Text(text), Gain::Nothing))
}
