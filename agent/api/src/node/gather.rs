//! Collects the facts that a status is rendered from.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use agent_loops::ports::{Devices, Machine, MachineFacts, Runtime, RuntimeFacts};
use agent_loops::{Clock, RuntimeWatch, WatchMode};
use tokio::sync::watch;
use tokio::time::Instant;

use super::facts::{Counts, Facts};
use super::unready::RuntimeHealth;

/// How old the list of images may be (Kubernetes 1.37: its cache is 30 s old at most).
const IMAGES_AGE: Duration = Duration::from_secs(30);

/// Time for the runtime to say how it is: a status must not wait for a runtime that hangs.
const RUNTIME_LIMIT: Duration = Duration::from_secs(5);

/// Asks host, runtime and devices.
#[derive(Debug)]
pub(crate) struct Gatherer {
    pub(crate) clock: Clock,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) watch: watch::Receiver<RuntimeWatch>,
    pub(crate) devices: Arc<dyn Devices>,
    health: RuntimeHealth,
    images_at: Option<Instant>,
    /// What was seen of the runtime watch.
    shown: (WatchMode, Option<Arc<RuntimeFacts>>),
    /// What was found last.
    facts: Facts,
}

impl Gatherer {
    pub(crate) fn new(
        clock: Clock,
        (machine, known): (Arc<dyn Machine>, MachineFacts),
        runtime: Arc<dyn Runtime>,
        watch: watch::Receiver<RuntimeWatch>,
        devices: Arc<dyn Devices>,
    ) -> Self {
        Self {
            clock,
            machine,
            runtime,
            watch,
            devices,
            health: RuntimeHealth::default(),
            images_at: None,
            shown: (WatchMode::Down, None),
            facts: Facts {
                machine: known,
                ..Facts::default()
            },
        }
    }

    /// The present. What cannot be found out keeps its last value.
    pub(crate) async fn facts(&mut self) -> Facts {
        let answer = tokio::time::timeout(RUNTIME_LIMIT, self.runtime.conditions()).await;
        let now = self.clock.now();
        match answer {
            Ok(Ok(conditions)) => self.health.answered(conditions, now),
            Ok(Err(fail)) => tracing::debug!(error = %fail, "the runtime does not say how it is"),
            Err(_) => tracing::debug!("the runtime does not say how it is in time"),
        }
        let watched = self.watch.borrow_and_update().clone();
        self.shown = (watched.mode, watched.facts.clone());
        if let Some(runtime) = watched.facts.clone() {
            self.facts.runtime = Some(runtime);
        }
        self.look_at_images().await;
        let present = self.devices.resources().borrow().clone();
        self.facts.devices.replace(present);
        if let Some(machine) = self.machine.facts().await {
            self.facts.machine = machine;
        }
        self.facts.unready = self.health.causes(&watched, now);
        self.facts.now = now;
        self.facts.clone()
    }

    async fn look_at_images(&mut self) {
        if self.images_at.is_some_and(|at| at.elapsed() < IMAGES_AGE) {
            return;
        }
        match tokio::time::timeout(RUNTIME_LIMIT, self.runtime.images()).await {
            Ok(Ok(images)) => {
                self.images_at = Some(Instant::now());
                self.facts.images = Some(Arc::new(images));
            }
            Ok(Err(fail)) => tracing::debug!(error = %fail, "images cannot be listed"),
            Err(_) => tracing::debug!("images cannot be listed in time"),
        }
    }

    /// Resolves when something changed that shows in the status. Safe to cancel.
    pub(crate) async fn changed(&mut self, devices: &mut watch::Receiver<Option<Counts>>) {
        let shown = self.shown.clone();
        // A runtime without events is listed every second, which changes nothing that is shown.
        let other = |watch: &RuntimeWatch| (watch.mode, watch.facts.clone()) != shown;
        // Both arms only wait: what changed is read from the receivers later. A side that is gone
        // never changes again.
        tokio::select! {
            () = async { if self.watch.wait_for(other).await.is_err() { pending().await } } => {}
            () = async { if devices.changed().await.is_err() { pending().await } } => {}
        }
    }
}
