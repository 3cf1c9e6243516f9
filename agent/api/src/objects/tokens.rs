//! ServiceAccount tokens of one pod.
//!
//! Each token has a task that brings it and renews it. Kubernetes 1.37 (`pkg/kubelet/token`): renewed at
//! 80 % of its life, at the latest after 24 h, up to 10 s earlier; a failed renewal leaves the old one
//! until it expires. Ages are counted from the receipt, so that a wrong wall clock expires nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_core::{Fail, Time};
use agent_loops::Clock;
use agent_loops::ports::Token;
use base_daemon::Backoff;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::Instant;

use super::awaited::Awaited;
use super::changes::Changes;
use super::follow::spread;
use super::record::PodFacts;
use super::task::Task;
use crate::request::{LONGEST, RequestFailure, within};

/// Oldest age of a token that is not renewed.
const OLDEST: Duration = Duration::from_secs(24 * 3600);
/// How much earlier it may be renewed, so that a node's tokens do not all come at once.
const EARLIER: Duration = Duration::from_secs(10);
/// First delay after a failure.
const SOON: Duration = Duration::from_millis(100);
/// Longest delay after failures.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// Life that the API gives when a manifest asks for none.
const USUAL_LIFE: i64 = 3600;

/// What a `serviceAccountToken` source asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TokenAsk {
    /// Name of the ServiceAccount.
    pub(super) account: String,
    /// Whom it is for; `None`: the API server.
    pub(super) audience: Option<String>,
    /// How long it shall live.
    pub(super) expiration_seconds: Option<i64>,
}

/// Tokens of one pod. Dropping it ends their tasks and forgets them.
#[derive(Default)]
pub(super) struct Tokens {
    // A plain lock: held for a look-up, never over an await.
    kept: Mutex<BTreeMap<TokenAsk, Kept>>,
}

struct Kept {
    state: Arc<Awaited<State>>,
    _task: Task,
}

enum State {
    /// None yet, and why if it was tried.
    Coming(Option<RequestFailure>),
    /// The newest.
    Here {
        token: Token,
        expires: Instant,
        /// When a new one will be asked for.
        next: Time,
        /// Why there is no newer one yet.
        failure: Option<RequestFailure>,
    },
}

impl Tokens {
    /// The token as it is now, and when a newer one is due.
    pub(super) async fn token(
        &self,
        ask: &TokenAsk,
        pod: &PodFacts,
        with: &TokenSource,
    ) -> (Result<Token, Fail>, Option<Time>) {
        let state = self.state(ask, pod, with);
        let is_here = |state: &State| matches!(state, State::Here { .. });
        if !state.look(is_here) {
            state.settle(is_here).await;
        }
        state.look(|state| match state {
            State::Coming(failure) => {
                let why = failure
                    .as_ref()
                    .map_or("no answer yet", |failure| &failure.message);
                (Err(fail(format!("failed to fetch token: {why}"))), None)
            }
            State::Here {
                expires, failure, ..
            } if Instant::now() >= *expires => {
                let why = failure
                    .as_ref()
                    .map_or("no answer yet", |failure| &failure.message);
                let text = format!(
                    "token {:?}/{:?}/{:?} expired and refresh failed: {why}",
                    ask.account,
                    pod.namespace,
                    ask.audience.as_deref().unwrap_or_default()
                );
                (Err(fail(text)), None)
            }
            State::Here { token, next, .. } => {
                let now = with.clock.now();
                // Past: it is being asked for right now, and its arrival is news.
                let next = if *next > now {
                    *next
                } else {
                    now.plus(LONGEST)
                };
                (Ok(token.clone()), Some(next))
            }
        })
    }

    fn state(&self, ask: &TokenAsk, pod: &PodFacts, with: &TokenSource) -> Arc<Awaited<State>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.entry(ask.clone()).or_insert_with(|| {
            let state = Arc::new(Awaited::new(State::Coming(None)));
            let keeper = Keeper {
                ask: ask.clone(),
                pod: pod.clone(),
                with: with.clone(),
                state: Arc::clone(&state),
            };
            Kept {
                state,
                _task: Task::start("service-account-token", keeper.run()),
            }
        });
        Arc::clone(&kept.state)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

fn fail(message: String) -> Fail {
    Fail::retry("FailedMount", message)
}

/// Where tokens come from, and who hears of new ones.
#[derive(Clone)]
pub(super) struct TokenSource {
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) changes: Arc<Changes>,
}

/// The task behind one token.
struct Keeper {
    ask: TokenAsk,
    pod: PodFacts,
    with: TokenSource,
    state: Arc<Awaited<State>>,
}

impl Keeper {
    async fn run(self) {
        let accounts: Api<ServiceAccount> =
            Api::namespaced(self.with.client.clone(), &self.pod.namespace);
        let request = self.request();
        let earlier = self.earlier();
        let params = PostParams::default();
        let mut retry = Backoff::new(SOON, LONGEST_RETRY);
        loop {
            let answer = accounts.create_token_request(&self.ask.account, &params, &request);
            let next = match within(answer).await.and_then(issued) {
                Ok((token, life)) => {
                    retry.reset();
                    self.put(token, life, earlier)
                }
                Err(failure) => self.postpone(failure, retry.step()),
            };
            tokio::time::sleep_until(next).await;
        }
    }

    /// Takes a new token over; gives the moment of its renewal.
    fn put(&self, token: Token, life: Duration, earlier: Duration) -> Instant {
        let next = self.with.clock.now().plus(renewal(life, earlier));
        let mut renewed = false;
        self.state.change(|state| {
            renewed = matches!(state, State::Here { .. });
            *state = State::Here {
                token,
                expires: Instant::now() + life,
                next,
                failure: None,
            };
            true
        });
        if self.state.take_missed() || renewed {
            self.with.changes.touch([&self.pod.uid]);
        }
        self.with.clock.instant(next)
    }

    /// Keeps what there is; gives the moment of the next try.
    fn postpone(&self, why: RequestFailure, delay: Duration) -> Instant {
        tracing::debug!(
            pod = %format_args!("{}/{}", self.pod.namespace, self.pod.name),
            account = self.ask.account, why = %why, "no token, to be tried again"
        );
        let again = self.with.clock.now().plus(delay);
        self.state.change(|state| {
            match state {
                State::Coming(failure) => *failure = Some(why),
                State::Here { next, failure, .. } => {
                    *next = again;
                    *failure = Some(why);
                }
            }
            false
        });
        self.with.clock.instant(again)
    }

    fn request(&self) -> TokenRequest {
        TokenRequest {
            spec: Some(TokenRequestSpec {
                audiences: Some(self.ask.audience.iter().cloned().collect()),
                expiration_seconds: self.ask.expiration_seconds,
                bound_object_ref: Some(BoundObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Pod".to_owned()),
                    name: Some(self.pod.name.to_string()),
                    uid: Some(self.pod.uid.to_string()),
                }),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        }
    }

    /// Whole seconds, different for each pod and token.
    fn earlier(&self) -> Duration {
        let mut hasher = DefaultHasher::new();
        (&self.pod.uid, &self.ask).hash(&mut hasher);
        Duration::from_secs(spread(EARLIER, hasher.finish()).as_secs())
    }
}

/// A token and how long it lives from now.
pub(super) fn issued(answer: TokenRequest) -> Result<(Token, Duration), RequestFailure> {
    let seconds = answer.spec.and_then(|spec| spec.expiration_seconds);
    let seconds = seconds.unwrap_or(USUAL_LIFE);
    let token = answer.status.and_then(|status| status.token);
    match token.filter(|token| !token.is_empty()) {
        None => Err(RequestFailure::new(
            "the API server answered without a token",
        )),
        Some(token) => Ok((
            Token(Arc::from(token)),
            Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
        )),
    }
}

/// Age at which a token is renewed.
pub(super) fn renewal(life: Duration, earlier: Duration) -> Duration {
    let due = life - life / 5;
    // A server that gives out tokens which are over at once is not asked all the time.
    due.min(OLDEST)
        .saturating_sub(earlier)
        .max(Duration::from_secs(1))
}
