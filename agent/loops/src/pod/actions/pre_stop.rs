//! `PreStop`: the hook before the stop, inside the grace period.

use agent_core::{ContainerId, ContainerName, Fail, Hook, Time};

use super::{Answer, Job, done};
use crate::events::EventKind;
use crate::hooks;

pub(super) async fn run(
    job: &Job,
    name: &ContainerName,
    id: &ContainerId,
    deadline: Time,
) -> Answer {
    let Some(hook) = hook(job, name) else {
        return done();
    };
    let limit = deadline.since(job.around.now());
    match hooks::run(&job.around.doors, hook, id, &job.address(hook).await, limit).await {
        Ok(()) => done(),
        Err(why) => {
            let text = "PreStopHook failed".to_owned();
            let (about, reason) = (job.about(name), "FailedPreStopHook");
            job.around
                .events
                .record(EventKind::Warning, about, reason, text, Some(why.clone()));
            Err(Fail::permanent("PreStopHookError", why))
        }
    }
}

/// From the manifest, or from the container's annotations when there is none any more.
fn hook<'a>(job: &'a Job, name: &ContainerName) -> Option<&'a Hook> {
    match job.container(name) {
        Ok(container) => container.pre_stop.as_ref(),
        Err(_) => job.instance.as_ref()?.recovered.pre_stop.as_ref(),
    }
}
