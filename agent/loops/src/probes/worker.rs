//! One probe: asks in its period and reports what it heard.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use agent_core::{Check, Fail, Probe, ProbeKind, Probing, Time};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use super::Try;
use crate::around::Around;
use crate::events::Subject;
use crate::ports::Answer;

/// How often asking is tried when asking itself fails (Kubernetes: 3).
const ATTEMPTS: u32 = 3;

/// What a worker needs.
#[derive(Clone, Debug)]
pub(crate) struct ProbeJob {
    pub(crate) around: Arc<Around>,
    pub(crate) about: Subject,
    pub(crate) probe: Probe,
    /// Primary address of the pod.
    pub(crate) ip: String,
    pub(crate) started_at: Time,
    /// The container ran before this agent began.
    pub(crate) adopted: bool,
}

pub(super) async fn run(job: ProbeJob, probing: Probing, tries: mpsc::Sender<Try>) {
    // Tokio has no interval of zero.
    let period = job.probe.period.max(Duration::from_millis(1));
    let mut ticks = tokio::time::interval_at(first(&job, &probing, period), period);
    // A slow answer must not be followed by a burst.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(success) = ask_patiently(&job, &probing).await else {
            continue;
        };
        if tries
            .send(Try {
                probing: probing.clone(),
                success,
            })
            .await
            .is_err()
        {
            return;
        }
    }
}

/// When to ask first. After a start of the agent the probes of all running containers would come at
/// once, so each is delayed by a part of its period.
fn first(job: &ProbeJob, probing: &Probing, period: Duration) -> Instant {
    let due = job
        .around
        .clock
        .instant(job.started_at.plus(job.probe.initial_delay));
    let due = due.max(Instant::now());
    if !job.adopted {
        return due;
    }
    let mut hasher = DefaultHasher::new();
    (probing.id.as_str(), probing.kind as u8).hash(&mut hasher);
    let [part, ..] = hasher.finish().to_le_bytes();
    due + period.mul_f64(f64::from(part) / 256.0)
}

/// The answer of one try; `None` when it could not be made, which counts as nothing.
async fn ask_patiently(job: &ProbeJob, probing: &Probing) -> Option<bool> {
    let kind = match probing.kind {
        ProbeKind::Startup => "Startup",
        ProbeKind::Liveness => "Liveness",
        ProbeKind::Readiness => "Readiness",
    };
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match ask(job, probing).await {
            Ok(answer) => {
                if !answer.success {
                    let message = format!("{kind} probe failed: {}", answer.detail.trim_end());
                    job.around
                        .events
                        .warning(job.about.clone(), "Unhealthy", message);
                }
                return Some(answer.success);
            }
            Err(fail) => last = fail.message,
        }
    }
    let message = format!("{kind} probe errored and resulted in unknown state: {last}");
    job.around
        .events
        .warning(job.about.clone(), "Unhealthy", message);
    None
}

async fn ask(job: &ProbeJob, probing: &Probing) -> Result<Answer, Fail> {
    let (doors, timeout) = (&job.around.doors, job.probe.timeout);
    match &job.probe.check {
        Check::Exec(command) => {
            let done = doors.runtime.exec(&probing.id, command, timeout).await?;
            Ok(Answer {
                success: done.code == 0,
                answered: true,
                detail: done.output,
            })
        }
        Check::Http(get) => doors.asker.http(get, &job.ip, timeout).await,
        Check::Tcp { host, port } => {
            doors
                .asker
                .tcp(host.as_deref().unwrap_or(&job.ip), *port, timeout)
                .await
        }
        Check::Grpc { port, service } => doors.asker.grpc(&job.ip, *port, service, timeout).await,
    }
}
