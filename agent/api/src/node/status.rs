//! Keeps the Node object and its status: registers, reports, and comes back when it was deleted.

use std::sync::Arc;
use std::time::Duration;

use agent_loops::{EventLog, Subject};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use tokio::sync::watch;
use tokio::time::Instant;

use super::book::NodeBook;
use super::calls::{CallError, within};
use super::facts::{Counts, Facts, StatusEvent};
use super::gather::Gatherer;
use super::jitter::{chance, stretched};
use super::lease::Holding;
use super::register::{self, register};
use super::render::{self, Rendered};
use super::settings::NodeSettings;
use super::troubles::Troubles;
use super::write::write;

/// Tries of one report (Kubernetes 1.37).
const TRIES: usize = 5;
/// How long after the start a node that is not ready is looked at often (Kubernetes 1.37).
const START: Duration = Duration::from_secs(120);
/// How often it is looked at then. The stock kubelet does it every 100 ms.
const LOOK_EARLY: Duration = Duration::from_millis(250);
/// And later; the stock kubelet asks the runtime that often all the time.
const LOOK_LATE: Duration = Duration::from_secs(5);
/// A runtime that is just starting gets this long before the node is registered as not ready.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// Subject of the problem that nothing can be written.
const API: &str = "API server";
/// Subject of the problem that there is no address.
const ADDRESS: &str = "node address";

/// The task that keeps the Node object.
#[derive(Debug)]
pub(crate) struct StatusWriter {
    pub(crate) nodes: Api<Node>,
    pub(crate) settings: Arc<NodeSettings>,
    pub(crate) book: NodeBook,
    pub(crate) gatherer: Gatherer,
    pub(crate) devices: watch::Receiver<Option<Counts>>,
    pub(crate) holding: watch::Receiver<Holding>,
    pub(crate) events: EventLog,
    pub(crate) troubles: Troubles,
    pub(crate) report: Report,
    pub(crate) started: Instant,
}

/// When the status was and will be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// UID of the object that was registered.
    registered: Option<String>,
    /// When it was written last.
    last: Option<Instant>,
    /// When it has to be written again although nothing has changed, counted from then.
    due_after: Duration,
    /// The boot was told of.
    rebooted: bool,
    unschedulable: bool,
}

/// A report that did not work.
enum Failed {
    /// The object is not there.
    Gone,
    /// It may work later.
    Later(CallError),
}

impl StatusWriter {
    /// Runs for ever.
    pub(crate) async fn run(mut self) {
        let mut facts = self.first_look().await;
        let mut backoff = register::backoff();
        loop {
            if self
                .holding
                .wait_for(|holding| *holding == Holding::Ours)
                .await
                .is_err()
            {
                return;
            }
            if !self.is_registered() {
                if !self.try_register(&facts).await {
                    tokio::time::sleep(backoff.step()).await;
                    facts = self.gatherer.facts().await;
                    continue;
                }
                backoff.reset();
            }
            match self.update(&facts).await {
                Ok(()) => self.troubles.set(API, None),
                // The next round registers again.
                Err(Failed::Gone) => {
                    self.book.clear();
                    continue;
                }
                Err(Failed::Later(error)) => {
                    self.troubles.set(API, Some(unwritten(&error)));
                }
            }
            facts = self.next(facts).await;
        }
    }

    /// The first facts, with the runtime's if it answers soon.
    async fn first_look(&mut self) -> Facts {
        let give_up = Instant::now() + FIRST_LOOK;
        loop {
            let facts = self.gatherer.facts().await;
            let known = facts.runtime.is_some() && facts.unready.is_empty();
            if known || Instant::now() >= give_up {
                return facts;
            }
            let wait = tokio::time::timeout(LOOK_EARLY, self.gatherer.changed(&mut self.devices));
            let _ = wait.await;
        }
    }

    /// The object in the book is the one that was registered. It is another one after somebody deleted
    /// and made it again, and then it lacks what registration gives it.
    fn is_registered(&self) -> bool {
        let node = self.book.node();
        let uid = node.as_ref().and_then(|node| node.metadata.uid.as_ref());
        uid.is_some() && uid == self.report.registered.as_ref()
    }

    async fn try_register(&mut self, facts: &Facts) -> bool {
        let registered = match (self.settings.register, self.book.node()) {
            (true, _) => register(&self.nodes, &self.settings, facts).await,
            // Somebody else makes the object; the watch shows it.
            (false, None) => return false,
            (false, Some(node)) => Ok((node.as_ref().clone(), Vec::new())),
        };
        match registered {
            Ok((node, events)) => {
                self.report.registered.clone_from(&node.metadata.uid);
                self.wrote(node, events, true);
                self.troubles.set(API, None);
                true
            }
            Err(error) => {
                let message = format!(
                    "this node cannot be registered: {}; it tries again",
                    error.words()
                );
                self.troubles.set(API, Some(message));
                false
            }
        }
    }

    /// Writes the status if it changed or if it is time to.
    async fn update(&mut self, facts: &Facts) -> Result<(), Failed> {
        let mut last = CallError::Late(Duration::ZERO);
        for attempt in 0..TRIES {
            // Kubernetes 1.37: the first try builds on what the watch has shown, the others ask.
            let old = match self.book.node().filter(|_| attempt == 0) {
                Some(node) => node,
                None => match self.read().await {
                    Ok(node) => Arc::new(node),
                    Err(error) if error.is_gone() => return Err(Failed::Gone),
                    Err(error) => {
                        last = error;
                        continue;
                    }
                },
            };
            self.tell_schedulable(&old);
            let Rendered {
                node,
                events,
                no_address,
            } = render::present(&old, &self.settings, facts);
            self.troubles.set(ADDRESS, no_address);
            let changed = render::differ(&old, &node);
            if !changed && !self.is_due() {
                return Ok(());
            }
            match write(&self.nodes, &self.settings, &old, &node).await {
                Ok(node) => {
                    self.wrote(node, events, changed);
                    return Ok(());
                }
                Err(error) if error.is_gone() => return Err(Failed::Gone),
                Err(error) => {
                    tracing::debug!(error = error.words(), "the node's status is not written");
                    last = error;
                }
            }
        }
        Err(Failed::Later(last))
    }

    async fn read(&self) -> Result<Node, CallError> {
        within(
            self.settings.call_limit(),
            self.nodes.get(&self.settings.name),
        )
        .await
    }

    fn is_due(&self) -> bool {
        let last = self.report.last;
        last.is_none_or(|at| at.elapsed() >= self.report.due_after)
    }

    /// After a write that a change caused the next one without a change comes at a random moment, and
    /// those after it in even steps (Kubernetes 1.37).
    fn wrote(&mut self, node: Node, events: Vec<StatusEvent>, changed: bool) {
        let every = self.settings.report_every;
        self.report.due_after = if changed || self.report.last.is_none() {
            every.mul_f64(0.5 + chance())
        } else {
            every
        };
        self.report.last = Some(Instant::now());
        self.book.offer(node);
        for event in events {
            // One boot, one event, even if the object was deleted in between.
            if event.reason == "Rebooted" && std::mem::replace(&mut self.report.rebooted, true) {
                continue;
            }
            self.events
                .record(event.kind, Subject::Node, event.reason, event.message, None);
        }
    }

    fn tell_schedulable(&mut self, node: &Node) {
        let spec = node.spec.as_ref();
        let unschedulable = spec.and_then(|spec| spec.unschedulable).unwrap_or(false);
        if std::mem::replace(&mut self.report.unschedulable, unschedulable) == unschedulable {
            return;
        }
        let reason = if unschedulable {
            "NodeNotSchedulable"
        } else {
            "NodeSchedulable"
        };
        let event = StatusEvent::state(&self.settings.name, reason);
        self.events
            .record(event.kind, Subject::Node, event.reason, event.message, None);
    }

    /// Waits for the next report: for its time, for a change, or for a node that becomes ready.
    async fn next(&mut self, mut facts: Facts) -> Facts {
        let tick = Instant::now() + stretched(self.settings.update_every);
        let mut nodes = self.book.subscribe();
        loop {
            let look = if facts.unready.is_empty() {
                tick
            } else if self.started.elapsed() < START {
                Instant::now() + LOOK_EARLY
            } else {
                Instant::now() + LOOK_LATE
            };
            let registered = self.report.registered.clone();
            // Every arm only waits, and what it waited for is looked at afterwards.
            let look_only = tokio::select! {
                () = tokio::time::sleep_until(look.min(tick)) => look < tick,
                () = self.gatherer.changed(&mut self.devices) => false,
                _ = nodes.wait_for(|node| uid(node.as_deref()) != registered.as_deref()) => false,
                _ = self.holding.wait_for(|holding| *holding != Holding::Ours) => false,
            };
            facts = self.gatherer.facts().await;
            // Until it is ready or the time has come, a look costs the API server nothing.
            if !look_only || facts.unready.is_empty() {
                return facts;
            }
        }
    }
}

fn uid(node: Option<&Node>) -> Option<&str> {
    node?.metadata.uid.as_deref()
}

fn unwritten(error: &CallError) -> String {
    format!(
        "the node's status cannot be written: {}; pods run on, and it tries again",
        error.words()
    )
}

#[cfg(test)]
mod tests;
