//! Certificates of one pod, asked for with PodCertificateRequests.
//!
//! Each has a task that makes key and request, waits for the signer, and begins anew when the signer
//! said that it is time. Keys live in memory only: after a restart all are new. Kubernetes 1.37
//! (`pkg/kubelet/podcertificate`): states, texts and times.

mod request;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_core::{Fail, Time};
use agent_loops::Clock;
use agent_loops::ports::{PodCertificate, ProjectedSource};
use base_daemon::Backoff;
use k8s_openapi::api::core::v1::PodCertificateProjection;
use kube::Client;
use kube::core::DynamicObject;
use tokio::sync::OnceCell;

use super::awaited::Awaited;
use super::changes::Changes;
use super::follow::{Follows, Query, spread};
use super::record::PodFacts;
use super::task::Task;
use request::{Outcome, RequestError};

/// How much later than asked a renewal may begin, so that not all begin at once.
const LATER: Duration = Duration::from_secs(5 * 60);
/// First delay after a failure.
const SOON: Duration = Duration::from_millis(100);
/// Longest delay after failures.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// Certificates of one pod. Dropping it ends their tasks and forgets their keys.
#[derive(Default)]
pub(super) struct Certificates {
    // A plain lock: held for a look-up, never over an await.
    kept: Mutex<BTreeMap<ProjectedSource, Kept>>,
}

struct Kept {
    state: Arc<Awaited<State>>,
    _task: Task,
}

enum State {
    /// None yet, and why if it was tried.
    Coming(Option<String>),
    /// The newest, and when a newer one will be asked for.
    Here(Arc<PodCertificate>, Time),
    /// There will never be one.
    Refused(Fail),
}

/// Where certificates come from, and who hears of new ones.
#[derive(Clone)]
pub(super) struct CertificateSource {
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) changes: Arc<Changes>,
    /// All requests of this node.
    pub(super) requests: Arc<Follows<DynamicObject>>,
    /// Their version, once it is known.
    pub(super) version: Arc<OnceCell<&'static str>>,
    /// Name of this node.
    pub(super) node: Arc<str>,
}

impl CertificateSource {
    /// All requests of this node: the Node authorizer lets a node list them only so.
    pub(super) fn query(&self) -> Query {
        Query {
            fields: Some(format!("spec.nodeName={}", self.node)),
            ..Query::default()
        }
    }
}

impl Certificates {
    /// The certificate as it is now, and when a newer one is due.
    pub(super) async fn certificate(
        &self,
        source: &ProjectedSource,
        ask: &PodCertificateProjection,
        pod: &PodFacts,
        with: &CertificateSource,
    ) -> (Result<Arc<PodCertificate>, Fail>, Option<Time>) {
        let state = self.state(source, ask, pod, with);
        let is_settled = |state: &State| !matches!(state, State::Coming(_));
        if !state.look(is_settled) {
            state.settle(is_settled).await;
        }
        state.look(|state| match state {
            State::Coming(why) => {
                let mut text = "credential bundle is not issued yet".to_owned();
                if let Some(why) = why {
                    text.push_str(&format!(": {why}"));
                }
                (Err(Fail::retry("FailedMount", text)), None)
            }
            State::Here(certificate, next) => {
                let next = Some(*next).filter(|next| *next > with.clock.now());
                (Ok(Arc::clone(certificate)), next)
            }
            State::Refused(fail) => (Err(fail.clone()), None),
        })
    }

    fn state(
        &self,
        source: &ProjectedSource,
        ask: &PodCertificateProjection,
        pod: &PodFacts,
        with: &CertificateSource,
    ) -> Arc<Awaited<State>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.entry(source.clone()).or_insert_with(|| {
            let state = Arc::new(Awaited::new(State::Coming(None)));
            let keeper = Keeper {
                source: source.clone(),
                ask: ask.clone(),
                pod: pod.clone(),
                with: with.clone(),
                state: Arc::clone(&state),
            };
            Kept {
                state,
                _task: Task::start("pod-certificate", keeper.run()),
            }
        });
        Arc::clone(&kept.state)
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").finish_non_exhaustive()
    }
}

/// The task behind one certificate.
struct Keeper {
    source: ProjectedSource,
    ask: PodCertificateProjection,
    pod: PodFacts,
    with: CertificateSource,
    state: Arc<Awaited<State>>,
}

impl Keeper {
    async fn run(self) {
        let mut retry = Backoff::new(SOON, LONGEST_RETRY);
        loop {
            match request::issue(&self.ask, &self.pod, &self.with).await {
                Ok(Outcome::Issued(certificate, begin)) => {
                    retry.reset();
                    let next = begin.plus(self.later());
                    self.put(State::Here(Arc::new(certificate), next));
                    tokio::time::sleep_until(self.with.clock.instant(next)).await;
                }
                Ok(Outcome::Refused(verb, why)) => {
                    let text = format!("PodCertificateRequest was permanently {verb}: {why}");
                    tracing::warn!(
                        pod = %format_args!("{}/{}", self.pod.namespace, self.pod.name),
                        volume = self.source.volume, why = text, "no certificate"
                    );
                    self.put(State::Refused(Fail::permanent("FailedMount", text)));
                    return;
                }
                Err(error) => {
                    let delay = retry.step();
                    self.postpone(&error, delay);
                    tokio::time::sleep(delay).await;
                }
            }
        }
    }

    fn put(&self, new: State) {
        let mut renewed = false;
        self.state.change(|state| {
            renewed = matches!(state, State::Here(..));
            *state = new;
            true
        });
        if self.state.take_missed() || renewed {
            self.with.changes.touch([&self.pod.uid]);
        }
    }

    fn postpone(&self, error: &RequestError, delay: Duration) {
        let why = base_daemon::Chain(error).to_string();
        tracing::debug!(
            pod = %format_args!("{}/{}", self.pod.namespace, self.pod.name),
            volume = self.source.volume, why, ?delay, "no certificate, to be tried again"
        );
        self.state.change(|state| {
            if let State::Coming(was) = state {
                *was = Some(why);
            }
            false
        });
    }

    /// Differs for each pod and source.
    fn later(&self) -> Duration {
        let mut hasher = DefaultHasher::new();
        (&self.pod.uid, &self.source.volume, self.source.index).hash(&mut hasher);
        spread(LATER, hasher.finish())
    }
}

#[cfg(test)]
mod tests;
