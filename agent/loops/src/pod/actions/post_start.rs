//! `PostStart`: the hook right after the start.

use std::time::Duration;

use agent_core::{ContainerId, ContainerName, Fail};

use super::{Answer, Job, done};
use crate::events::EventKind;
use crate::hooks;

/// A postStart hook has no limit of its own (Kubernetes); it ends at the latest with its container.
const LIMIT: Duration = Duration::from_secs(86_400);

pub(super) async fn run(job: &Job, name: &ContainerName, id: &ContainerId) -> Answer {
    let Some(hook) = &job.container(name)?.post_start else {
        return done();
    };
    match hooks::run(&job.around.doors, hook, id, &job.address(hook).await, LIMIT).await {
        Ok(()) => done(),
        Err(why) => {
            let text = "PostStartHook failed".to_owned();
            let (about, reason) = (job.about(name), "FailedPostStartHook");
            job.around
                .events
                .record(EventKind::Warning, about, reason, text, Some(why.clone()));
            Err(Fail::permanent("PostStartHookError", why))
        }
    }
}
