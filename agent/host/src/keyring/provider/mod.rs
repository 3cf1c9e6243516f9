//! Image credential providers: programs of the operator that know a registry's passwords.

mod cache;
mod config;
mod duration;
mod exec;

use std::path::Path;
use std::sync::Arc;

use agent_core::Fail;
use agent_loops::ports::{CredentialOrigin, ServiceAccount, ServiceAccounts, WantedPod};
use futures::future::join_all;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use self::cache::{Account, Cache};
pub use self::config::ProviderError;
use self::config::{ProviderConfig, TokenAttributes};
use self::exec::{ExecError, Program, Request, Response};
use super::docker::{Login, Logins, hex};
use super::index::{Index, url_matches};

/// Programs that run side by side on this node: they are small, but a burst of pods with an image each
/// must not become a burst of processes.
const SIDE_BY_SIDE: usize = 8;

/// All providers, in the order of their configuration.
#[derive(Debug, Default)]
pub(super) struct Providers(Vec<Provider>);

#[derive(Debug)]
struct Provider {
    config: ProviderConfig,
    program: Program,
    cache: Cache,
    accounts: Option<Arc<dyn ServiceAccounts>>,
}

/// Whom a provider is asked for.
#[derive(Default)]
struct Identity {
    account: Account,
    uid: String,
    token: String,
}

/// Why a provider gave nothing.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("the pod's ServiceAccount cannot be had: {0}")]
    Account(Fail),
    #[error(
        "tokenAttributes need an API server for tokens of ServiceAccounts, and this node has none"
    )]
    NoAccounts,
    #[error(
        "it gave the ServiceAccount's token back as the password; that is allowed with \
         tokenAttributes.cacheType Token only"
    )]
    Echo,
    #[error(transparent)]
    Exec(#[from] Arc<ExecError>),
}

impl Providers {
    /// Reads the configuration, a file or a folder of files, and looks for the programs.
    pub(super) fn read(
        config: &Path,
        programs: &Path,
        accounts: Option<Arc<dyn ServiceAccounts>>,
    ) -> Result<Self, ProviderError> {
        let permits = Arc::new(Semaphore::new(SIDE_BY_SIDE));
        let provider = |config: ProviderConfig| {
            let program = Program::find(programs, &config, Arc::clone(&permits))?;
            Ok(Provider {
                cache: Cache::new(config.default_cache_duration),
                program,
                config,
                accounts: accounts.clone(),
            })
        };
        let configs = config::read(config)?;
        configs
            .into_iter()
            .map(provider)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Credentials for a repository, from all providers that it is a matter of. A provider that fails
    /// is told in the log, and the others count.
    pub(super) async fn index(&self, repository: &str, pod: &WantedPod) -> Index {
        let asked = self.0.iter().filter(|provider| provider.serves(repository));
        let answers = asked.map(|provider| async move {
            match provider.ask(repository, pod).await {
                Ok(answer) => answer,
                Err(error) => {
                    let provider = &provider.config.name;
                    let error = base_daemon::Chain(&error);
                    tracing::warn!(provider, image = repository, %error, "credential provider failed");
                    None
                }
            }
        });
        let mut index = Index::default();
        for (logins, origin) in join_all(answers).await.into_iter().flatten() {
            index.add(&logins, &origin);
        }
        index
    }
}

impl Provider {
    fn serves(&self, repository: &str) -> bool {
        let patterns = self.config.match_images.iter();
        patterns
            .into_iter()
            .any(|pattern| url_matches(pattern, repository))
    }

    /// `None`: it is not asked for this pod.
    async fn ask(
        &self,
        repository: &str,
        pod: &WantedPod,
    ) -> Result<Option<(Logins, CredentialOrigin)>, AskError> {
        let identity = match &self.config.token_attributes {
            None => Identity::default(),
            Some(attributes) => match self.identity(attributes, pod).await? {
                Some(identity) => identity,
                None => return Ok(None),
            },
        };
        let origin = match &identity.account.name {
            Some((namespace, name)) => CredentialOrigin::ServiceAccount {
                uid: identity.uid.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
            },
            None => CredentialOrigin::Node,
        };
        if let Some(logins) = self.cache.get(repository, &identity.account) {
            return Ok(Some((logins, origin)));
        }
        let request = Request {
            image: repository.to_owned(),
            token: identity.token.clone(),
            annotations: identity.account.annotations.clone(),
        };
        let response = self.program.ask(request).await?;
        let attributes = self.config.token_attributes.as_ref();
        let per_token = attributes.is_some_and(TokenAttributes::per_token);
        if !identity.token.is_empty() && !per_token && response.echoes(&identity.token) {
            return Err(AskError::Echo);
        }
        let logins = logins(&response);
        self.cache
            .put(repository, identity.account, &response, logins.clone());
        Ok(Some((logins, origin)))
    }

    /// The pod's ServiceAccount with a token, as far as the provider wants them. `None`: it does not
    /// serve this pod.
    async fn identity(
        &self,
        attributes: &TokenAttributes,
        pod: &WantedPod,
    ) -> Result<Option<Identity>, AskError> {
        let spec = pod.manifest.spec.as_ref();
        let name = spec.and_then(|spec| spec.service_account_name.as_deref());
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            let nobody = Identity::default();
            return Ok((!attributes.require_service_account).then_some(nobody));
        };
        let accounts = self.accounts.as_ref().ok_or(AskError::NoAccounts)?;
        let namespace = &*pod.want.name.namespace;
        let account = accounts.account(namespace, name).await;
        let account = account.map_err(AskError::Account)?;
        let Some(annotations) = attributes.annotations(&account) else {
            // A required annotation is how an account takes part at all.
            return Ok(None);
        };
        let audience = &attributes.service_account_token_audience;
        let token = accounts.token(name, &account, pod, audience).await;
        let token = token.map_err(AskError::Account)?.0.to_string();
        let per_token = attributes.per_token();
        let ServiceAccount { uid, .. } = account;
        Ok(Some(Identity {
            account: Account {
                name: Some((namespace.to_owned(), name.to_owned())),
                uid: uid.clone(),
                annotations,
                token: per_token.then(|| hex(&Sha256::digest(&token))),
            },
            uid,
            token,
        }))
    }
}

fn logins(response: &Response) -> Logins {
    let login = |(registry, auth): (&String, &exec::Auth)| {
        let login = Login {
            username: auth.username.clone(),
            password: auth.password.clone(),
            email: String::new(),
        };
        (registry.clone(), login)
    };
    response.auth.iter().flatten().map(login).collect()
}

#[cfg(test)]
mod tests;
