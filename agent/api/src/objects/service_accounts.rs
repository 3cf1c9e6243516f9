//! ServiceAccounts, for credential providers that act in the name of a pod's.
//!
//! Kubernetes 1.37 reads the account at every question; its tokens are kept until they are to be
//! renewed, which happens only when somebody asks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_core::Fail;
use agent_loops::ports::{ServiceAccount, ServiceAccounts, Token, WantedPod};
use async_trait::async_trait;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount as Account;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use tokio::time::Instant;

use super::ApiObjects;
use super::tokens::{issued, renewal};
use crate::request::{RequestFailure, within};

/// Tokens of one pod that credential providers were given. Dropping it forgets them.
#[derive(Default)]
pub(super) struct ProviderTokens {
    // A plain lock: held for a look-up, never over an await.
    kept: Mutex<BTreeMap<TokenKey, Kept>>,
}

/// An account that was made anew under its name is another one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TokenKey {
    account: String,
    audience: String,
}

struct Kept {
    token: Token,
    renew: Instant,
    expires: Instant,
}

#[async_trait]
impl ServiceAccounts for ApiObjects {
    async fn account(&self, namespace: &str, name: &str) -> Result<ServiceAccount, Fail> {
        let accounts: Api<Account> = Api::namespaced(self.client.clone(), namespace);
        let account = within(accounts.get(name)).await.map_err(fail)?;
        let metadata = account.metadata;
        Ok(ServiceAccount {
            uid: metadata.uid.unwrap_or_default(),
            annotations: metadata.annotations.unwrap_or_default(),
        })
    }

    async fn token(
        &self,
        name: &str,
        account: &ServiceAccount,
        pod: &WantedPod,
        audience: &str,
    ) -> Result<Token, Fail> {
        let tokens = self.record(pod).provider_tokens;
        let key = TokenKey {
            account: account.uid.clone(),
            audience: audience.to_owned(),
        };
        let now = Instant::now();
        if let Some(token) = tokens.find(&key, |kept| now < kept.renew) {
            return Ok(token);
        }
        let accounts: Api<Account> = Api::namespaced(self.client.clone(), &pod.want.name.namespace);
        let (params, request) = (PostParams::default(), request(account, pod, audience));
        let answer = accounts.create_token_request(name, &params, &request);
        match within(answer).await.and_then(issued) {
            Ok((token, life)) => {
                let kept = Kept {
                    token: token.clone(),
                    renew: now + renewal(life, Duration::ZERO),
                    expires: now + life,
                };
                tokens.kept().insert(key, kept);
                Ok(token)
            }
            // The old one is as good as it was.
            Err(failure) => tokens
                .find(&key, |kept| now < kept.expires)
                .ok_or_else(|| fail(failure)),
        }
    }
}

/// The UID keeps the API server from answering for an account that was made anew meanwhile.
fn request(account: &ServiceAccount, pod: &WantedPod, audience: &str) -> TokenRequest {
    TokenRequest {
        metadata: ObjectMeta {
            uid: Some(account.uid.clone()),
            ..ObjectMeta::default()
        },
        spec: Some(TokenRequestSpec {
            audiences: Some(vec![audience.to_owned()]),
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: Some(pod.want.name.name.to_string()),
                uid: Some(pod.want.uid.to_string()),
            }),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    }
}

fn fail(failure: RequestFailure) -> Fail {
    Fail::retry("ServiceAccountUnavailable", failure.message)
}

impl ProviderTokens {
    fn find(&self, key: &TokenKey, is_good: impl FnOnce(&Kept) -> bool) -> Option<Token> {
        let kept = self.kept();
        let found = kept.get(key).filter(|kept| is_good(kept));
        found.map(|kept| kept.token.clone())
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<TokenKey, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ProviderTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderTokens").finish_non_exhaustive()
    }
}
