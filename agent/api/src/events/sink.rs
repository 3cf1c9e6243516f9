//! Writes events to the API server.

use std::sync::Arc;
use std::time::Duration;

use agent_core::Time;
use agent_loops::{AgentEvent, Clock, EventLog, PodBoard};
use base_daemon::DrainGuard;
use k8s_openapi::api::core::v1::{Event, Node};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::{broadcast, watch};

use super::budget::Budget;
use super::correlate::{Correlator, Verdict};
use super::object::{self, Surroundings};
use crate::configuration::KubeletConfiguration;
use crate::node::{CallError, chance, within};

/// Tries of one event while the API server does not answer (Kubernetes 1.37).
const TRIES: u32 = 12;
/// Pause between them; the first one is of random length (Kubernetes 1.37).
const AGAIN: Duration = Duration::from_secs(10);
/// Time for one call.
const LIMIT: Duration = Duration::from_secs(10);

/// What is set about events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSettings {
    node: String,
    /// Events a second and at once; `None`: no limit.
    rate: Option<(u32, u32)>,
}

impl EventSettings {
    /// `node`: name of this node.
    pub fn new(configuration: &KubeletConfiguration, node: &str) -> Self {
        let settings = &configuration.node;
        let number = |value: i32| u32::try_from(value).unwrap_or(0);
        let (rate, burst) = (
            number(settings.event_record_qps),
            number(settings.event_burst),
        );
        Self {
            node: node.to_owned(),
            rate: (rate > 0).then_some((rate, burst.max(1))),
        }
    }
}

/// Writes what the log has and gets, until the drain begins. `node` and `pods` are where events look up
/// what they are about.
pub async fn write_events(
    client: Client,
    settings: EventSettings,
    log: EventLog,
    clock: Clock,
    around: (
        watch::Receiver<Option<Arc<Node>>>,
        watch::Receiver<Arc<PodBoard>>,
    ),
    guard: DrainGuard,
) {
    let sink = Sink::new(client, settings, clock, around);
    // Both arms may be dropped: an event that is not written is lost, which events may be.
    tokio::select! {
        () = sink.run(&log) => {}
        () = guard.ending() => {}
    }
}

struct Sink {
    client: Client,
    settings: EventSettings,
    clock: Clock,
    node: watch::Receiver<Option<Arc<Node>>>,
    pods: watch::Receiver<Arc<PodBoard>>,
    correlator: Correlator,
    budget: Option<Budget>,
    stamp: i64,
}

impl Sink {
    fn new(
        client: Client,
        settings: EventSettings,
        clock: Clock,
        (node, pods): (
            watch::Receiver<Option<Arc<Node>>>,
            watch::Receiver<Arc<PodBoard>>,
        ),
    ) -> Self {
        let budget = settings.rate.map(|(rate, burst)| {
            let period = Duration::from_secs(1) / rate;
            Budget::new(burst, period, clock.now())
        });
        Self {
            client,
            settings,
            clock,
            node,
            pods,
            correlator: Correlator::new(),
            budget,
            stamp: 0,
        }
    }

    async fn run(mut self, log: &EventLog) {
        let (kept, mut live) = log.subscribe();
        for event in kept {
            // What happened before is one entry of the log, however often it did.
            let times = i32::try_from(event.count).unwrap_or(i32::MAX);
            self.take(&event, times).await;
        }
        loop {
            match live.recv().await {
                Ok(event) => self.take(&event, 1).await,
                Err(broadcast::error::RecvError::Lagged(lost)) => {
                    tracing::warn!(
                        lost,
                        "the API server was away for too long: events are lost"
                    );
                }
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }

    async fn take(&mut self, happened: &AgentEvent, times: i32) {
        self.stamp = happened.time.0.max(self.stamp.saturating_add(1));
        let event = {
            let (node, pods) = (self.node.borrow(), self.pods.borrow());
            let uid = happened.subject.pod().map(|(uid, _)| uid);
            let pod = uid.and_then(|uid| pods.get(uid));
            let around = Surroundings {
                node_name: &self.settings.node,
                node: node.as_deref(),
                pod: pod.and_then(|pod| pod.manifest.as_deref()),
            };
            let mut event = object::event(happened, self.stamp, around);
            if times > 1 {
                event.first_timestamp = Some(crate::node::api_time(happened.first));
            }
            event
        };
        // The time of the event, not of its writing: a flood is one also when it is written later.
        match self.correlator.judge(event, times, happened.time) {
            Verdict::Drop => {
                tracing::debug!(
                    reason = &*happened.reason,
                    "too many events about this object"
                );
            }
            Verdict::Create(event) => self.write(*event, false).await,
            Verdict::Count(event) => self.write(*event, true).await,
        }
    }

    /// Writes until the API server has answered, whatever it answers: what it refuses it refuses again.
    async fn write(&mut self, mut event: Event, counted: bool) {
        for attempt in 0..TRIES {
            self.keep_rate().await;
            let error = match self.send(&mut event, counted).await {
                Ok(()) => return,
                Err(error) => error,
            };
            let reason = event.reason.as_deref();
            if error.code().is_some_and(|code| code != 429 && code < 500) {
                tracing::debug!(reason, error = error.words(), "an event is refused");
                return;
            }
            tracing::debug!(reason, error = error.words(), "an event is not written");
            let spread = if attempt == 0 { chance() } else { 1.0 };
            tokio::time::sleep(AGAIN.mul_f64(spread)).await;
        }
        tracing::warn!(
            reason = event.reason,
            "an event is lost: the API server is away"
        );
    }

    async fn keep_rate(&mut self) {
        let now: Time = self.clock.now();
        let wait = self.budget.as_mut().map(|budget| budget.wait(now));
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            tokio::time::sleep(wait).await;
        }
    }

    async fn send(&self, event: &mut Event, counted: bool) -> Result<(), CallError> {
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let events: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        if counted {
            let name = event.metadata.name.clone().unwrap_or_default();
            let patch = json!({
                "count": event.count,
                "lastTimestamp": event.last_timestamp,
                "message": event.message,
            });
            let (parameters, patch) = (PatchParams::default(), Patch::Strategic(patch));
            match within(LIMIT, events.patch(&name, &parameters, &patch)).await {
                // It was deleted, or has run out: events live for an hour.
                Err(error) if error.is_gone() => {}
                other => return other.map(drop),
            }
        }
        let parameters = PostParams::default();
        within(LIMIT, events.create(&parameters, event))
            .await
            .map(drop)
    }
}

#[cfg(test)]
mod tests;
