//! The node's lease: its heartbeat, and the place where two agents of one name find each other.

use std::sync::Arc;
use std::time::Duration;

use agent_loops::Clock;
use base_daemon::{Backoff, Hold, Readiness};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;

use super::book::NodeBook;
use super::calls::{CallError, within};
use super::claim::{Claim, HOLDER, Identity, Verdict, renew_time};
use super::jitter::stretched;
use super::settings::NodeSettings;
use super::troubles::Troubles;

/// Where the leases of nodes are.
const NAMESPACE: &str = "kube-node-lease";
/// Tries in a row before the next renewal is waited for (Kubernetes 1.37).
const TRIES: usize = 5;
/// First and longest delay between tries to read or make it (Kubernetes 1.37).
const AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(7));
/// Subject of the problem that another agent has this node's name.
const NAME: &str = "node name";

/// Whose the node's name is, as far as is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Holding {
    /// The API server has not said yet.
    #[default]
    Unknown,
    /// Ours.
    Ours,
    /// Another agent's, with this identity.
    Others(String),
}

/// The task that keeps the lease.
#[derive(Debug)]
pub(crate) struct LeaseKeeper {
    pub(crate) leases: Api<Lease>,
    pub(crate) settings: Arc<NodeSettings>,
    pub(crate) clock: Clock,
    pub(crate) identity: Identity,
    pub(crate) book: NodeBook,
    pub(crate) holding: Arc<watch::Sender<Holding>>,
    pub(crate) troubles: Troubles,
    pub(crate) readiness: Readiness,
    claim: Claim,
    latest: Option<Lease>,
    waiting: Option<Hold>,
}

/// What came of a try to renew.
enum Renewed {
    Yes,
    /// Another agent has it.
    Lost,
    /// Not this time.
    No,
}

impl LeaseKeeper {
    pub(crate) fn new(
        client: Client,
        settings: Arc<NodeSettings>,
        around: (Clock, NodeBook, Troubles, Readiness),
        identity: Identity,
        holding: Arc<watch::Sender<Holding>>,
    ) -> Self {
        let (clock, book, troubles, readiness) = around;
        Self {
            leases: Api::namespaced(client, NAMESPACE),
            settings,
            clock,
            identity,
            book,
            holding,
            troubles,
            readiness,
            claim: Claim::default(),
            latest: None,
            waiting: None,
        }
    }

    /// Claims the name, then renews for ever, and begins anew when the name is lost.
    pub(crate) async fn run(mut self) {
        loop {
            self.claim().await;
            while !matches!(self.renew().await, Renewed::Lost) {
                tokio::time::sleep(stretched(self.period())).await;
            }
        }
    }

    /// Kubernetes 1.37: four renewals in the time of a lease.
    fn period(&self) -> Duration {
        self.settings.lease_duration() / 4
    }

    /// Waits until the name may be taken.
    async fn claim(&mut self) {
        let mut backoff = Backoff::new(AGAIN.0, AGAIN.1);
        loop {
            let delay = match self.read().await {
                Ok(lease) => {
                    let verdict = self.judge(lease.as_ref());
                    self.latest = lease;
                    if verdict == Verdict::Free {
                        return;
                    }
                    backoff.reset();
                    self.period()
                }
                Err(error) => {
                    tracing::debug!(error = error.words(), "the node's lease cannot be read");
                    self.claim.was_blind();
                    backoff.step()
                }
            };
            tokio::time::sleep(delay).await;
        }
    }

    fn judge(&mut self, lease: Option<&Lease>) -> Verdict {
        let verdict = self.claim.judge(lease, &self.identity, self.clock.now());
        let holding = match &verdict {
            Verdict::Free => Holding::Ours,
            Verdict::Held(holder) => Holding::Others(holder.clone()),
        };
        let message = match &verdict {
            Verdict::Free => None,
            Verdict::Held(holder) => Some(format!(
                "another agent is alive under the name {}: {holder} (machine/boot/start) renews its lease. This one \
                 waits and takes no pods from the API server; stop the other one, or start this one with another \
                 --hostname-override",
                self.settings.name
            )),
        };
        match (&message, &self.waiting) {
            (None, _) => self.waiting = None,
            (Some(_), Some(_)) => {}
            (Some(_), None) => {
                self.waiting = Some(self.readiness.hold("node name, which another agent has"));
            }
        }
        self.troubles.set(NAME, message);
        self.holding.send_if_modified(|old| {
            let changed = *old != holding;
            *old = holding;
            changed
        });
        verdict
    }

    async fn read(&self) -> Result<Option<Lease>, CallError> {
        let limit = self.settings.call_limit();
        within(limit, self.leases.get_opt(&self.settings.name)).await
    }

    /// Kubernetes 1.37: first on top of the newest lease known, without reading it.
    async fn renew(&mut self) -> Renewed {
        if self.latest.is_some() {
            match self.write_on_latest().await {
                Renewed::No => {}
                done => return done,
            }
        }
        let mut backoff = Backoff::new(AGAIN.0, AGAIN.1);
        // An outage is told once, at its first try.
        let mut told = false;
        loop {
            let tried = match self.read().await {
                Ok(None) => self.create().await,
                Ok(lease) => {
                    if self.judge(lease.as_ref()) != Verdict::Free {
                        return Renewed::Lost;
                    }
                    self.latest = lease;
                    if told {
                        tracing::info!("the API server answers about the node's lease again");
                    }
                    return self.write_on_latest().await;
                }
                Err(error) => Err(error),
            };
            match tried {
                Ok(()) => return Renewed::Yes,
                Err(error) => {
                    if !std::mem::replace(&mut told, true) {
                        tracing::warn!(
                            error = error.words(),
                            "the node's lease cannot be kept; it is tried again"
                        );
                    }
                    tokio::time::sleep(backoff.step()).await;
                }
            }
        }
    }

    async fn write_on_latest(&mut self) -> Renewed {
        for _ in 0..TRIES {
            let Some(latest) = &self.latest else {
                return Renewed::No;
            };
            let lease = self.lease(Some(latest));
            let parameters = PostParams::default();
            let call = self
                .leases
                .replace(&self.settings.name, &parameters, &lease);
            match within(self.settings.call_limit(), call).await {
                Ok(lease) => {
                    self.latest = Some(lease);
                    return Renewed::Yes;
                }
                Err(error) if error.is_gone() => self.latest = None,
                Err(error) if error.is_conflict() => {
                    let Ok(lease) = self.read().await else {
                        continue;
                    };
                    if self.judge(lease.as_ref()) != Verdict::Free {
                        return Renewed::Lost;
                    }
                    self.latest = lease;
                }
                Err(error) => {
                    tracing::debug!(error = error.words(), "the node's lease is not renewed");
                }
            }
        }
        Renewed::No
    }

    /// Makes the lease as soon as there is a Node object that can own it.
    async fn create(&mut self) -> Result<(), CallError> {
        let mut nodes = self.book.subscribe();
        // The book is never dropped while this task lives.
        let _ = nodes.wait_for(Option::is_some).await;
        let lease = self.lease(None);
        let parameters = PostParams::default();
        let call = self.leases.create(&parameters, &lease);
        let lease = within(self.settings.call_limit(), call).await?;
        self.latest = Some(lease);
        Ok(())
    }

    /// The lease as it should be now; what others wrote into it stays.
    fn lease(&self, base: Option<&Lease>) -> Lease {
        let name = &self.settings.name;
        let mut lease = base.cloned().unwrap_or_else(|| {
            let mut lease = Lease::default();
            lease.metadata.name = Some(name.clone());
            lease.metadata.namespace = Some(NAMESPACE.to_owned());
            lease.spec = Some(LeaseSpec {
                holder_identity: Some(name.clone()),
                ..LeaseSpec::default()
            });
            lease
        });
        if let Some(owner) = self.owner() {
            let owners = lease.metadata.owner_references.get_or_insert_default();
            // An object that was deleted and made again: the lease would be taken for an orphan.
            owners.retain(|old| old.kind != owner.kind || old.uid == owner.uid);
            if owners.is_empty() {
                owners.push(owner);
            }
        }
        let annotations = lease.metadata.annotations.get_or_insert_default();
        annotations.insert(HOLDER.to_owned(), self.identity.text());
        let spec = lease.spec.get_or_insert_default();
        spec.lease_duration_seconds = Some(self.settings.lease_seconds);
        spec.renew_time = Some(renew_time(self.clock.now()));
        lease
    }

    /// The Node object, so that the lease goes when it goes.
    fn owner(&self) -> Option<OwnerReference> {
        let uid = self.book.node()?.metadata.uid.clone()?;
        Some(OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Node".to_owned(),
            name: self.settings.name.clone(),
            uid,
            ..OwnerReference::default()
        })
    }
}

#[cfg(test)]
mod tests;
