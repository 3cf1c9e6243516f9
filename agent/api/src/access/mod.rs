//! Who may use the kubelet's server, as the API server says.
//!
//! Kubernetes 1.37: TokenReview and SubjectAccessReview with caches in front. Questions about the same
//! thing at the same time are one request. Failures are not kept. A token is kept only as its hash.

mod answers;
mod authenticate;
mod authorize;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use agent_core::Fail;
use agent_loops::ports::{Access, AccessAsk, Identity};
use async_trait::async_trait;
use base_daemon::Backoff;
use kube::Client;

use crate::configuration::{Authentication, Authorization};
use crate::request::{RequestFailure, within};
use answers::Answers;

/// How long answers are kept; zero: not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessSettings {
    /// Who a token belongs to, also that it belongs to nobody.
    pub authenticated: Duration,
    /// A yes.
    pub authorized: Duration,
    /// A no.
    pub unauthorized: Duration,
}

impl AccessSettings {
    /// From `authentication.webhook` and `authorization.webhook`.
    pub fn new(authentication: &Authentication, authorization: &Authorization) -> Self {
        Self {
            authenticated: authentication.webhook.cache_ttl.span(),
            authorized: authorization.webhook.cache_authorized_ttl.span(),
            unauthorized: authorization.webhook.cache_unauthorized_ttl.span(),
        }
    }
}

/// Reviews by the API server.
pub struct ApiAccess {
    client: Client,
    node: Arc<str>,
    settings: AccessSettings,
    tokens: Answers<[u8; 32], Option<Identity>>,
    permissions: Answers<(Identity, AccessAsk), bool>,
}

/// Most answers that are kept of each kind: what a caller sends must not fill the memory.
const MOST: usize = 4096;
/// Tries of one question. Kubernetes 1.37: the same, from 500 ms on.
const TRIES: usize = 5;
const FIRST_DELAY: Duration = Duration::from_millis(500);
const LONGEST_DELAY: Duration = Duration::from_secs(4);

impl ApiAccess {
    /// Asks nothing before somebody calls. `node`: name of this node, on which permissions are asked for.
    pub fn new(client: Client, node: &str, settings: AccessSettings) -> Self {
        Self {
            client,
            node: Arc::from(node),
            settings,
            tokens: Answers::new(MOST),
            permissions: Answers::new(MOST),
        }
    }
}

#[async_trait]
impl Access for ApiAccess {
    async fn authenticate(&self, token: &str) -> Result<Option<Identity>, Fail> {
        let key = authenticate::hash(token);
        let keep = self.settings.authenticated;
        let ask = || authenticate::ask(self.client.clone(), token.to_owned(), keep);
        self.tokens.answer(key, ask).await
    }

    async fn authorize(&self, who: &Identity, what: &AccessAsk) -> Result<bool, Fail> {
        let key = (who.clone(), what.clone());
        let ask = || {
            authorize::ask(
                self.client.clone(),
                Arc::clone(&self.node),
                (who.clone(), what.clone()),
                self.settings,
            )
        };
        self.permissions.answer(key, ask).await
    }
}

impl fmt::Debug for ApiAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiAccess")
            .field("node", &self.node)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Asks until there is an answer or it is clear that there will be none.
async fn patiently<T, F>(request: impl Fn() -> F) -> Result<T, RequestFailure>
where
    F: Future<Output = kube::Result<T>>,
{
    let mut delays = Backoff::new(FIRST_DELAY, LONGEST_DELAY);
    for _ in 1..TRIES {
        match within(request()).await {
            Err(failure) if failure.is_passing() => {
                tracing::debug!(why = %failure, "review to be tried again");
                tokio::time::sleep(delays.step()).await;
            }
            other => return other,
        }
    }
    within(request()).await
}

#[cfg(test)]
mod tests;
