//! Answers of a provider, as long as it says that they are good.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::super::docker::Logins;
use super::exec::{CacheKeyType, Response};

/// In whose name a provider was asked. Part of the key: no account gets the answer for another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Account {
    /// Namespace and name; `None`: in nobody's.
    pub(super) name: Option<(String, String)>,
    pub(super) uid: String,
    pub(super) annotations: BTreeMap<String, String>,
    /// Hash of the token, if answers are good for one token only.
    pub(super) token: Option<String>,
}

/// What an answer is good for.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Scope {
    Image(String),
    Registry(String),
    Global,
}

/// Answers by scope and account.
pub(super) struct Cache {
    default: Duration,
    // A plain lock: held for map operations.
    answers: Mutex<HashMap<(Scope, Account), Answer>>,
}

struct Answer {
    logins: Logins,
    until: Instant,
}

impl Cache {
    /// `default`: for answers that do not say how long they are good.
    pub(super) fn new(default: Duration) -> Self {
        Self {
            default,
            answers: Mutex::default(),
        }
    }

    /// An answer that is still good, the narrowest scope first.
    pub(super) fn get(&self, repository: &str, account: &Account) -> Option<Logins> {
        let now = Instant::now();
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let scopes = [
            Scope::Image(repository.to_owned()),
            Scope::Registry(registry(repository)),
            Scope::Global,
        ];
        scopes.into_iter().find_map(|scope| {
            let answer = answers.get(&(scope, account.clone()))?;
            (answer.until >= now).then(|| answer.logins.clone())
        })
    }

    pub(super) fn put(
        &self,
        repository: &str,
        account: Account,
        response: &Response,
        logins: Logins,
    ) {
        let good_for = response.good_for().unwrap_or(self.default);
        let now = Instant::now();
        let Some(until) = now.checked_add(good_for).filter(|until| *until > now) else {
            return;
        };
        let scope = match response.cache_key_type {
            CacheKeyType::Image => Scope::Image(repository.to_owned()),
            CacheKeyType::Registry => Scope::Registry(registry(repository)),
            CacheKeyType::Global => Scope::Global,
        };
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|_, answer| answer.until >= now);
        answers.insert((scope, account), Answer { logins, until });
    }
}

fn registry(repository: &str) -> String {
    repository.split('/').next().unwrap_or_default().to_owned()
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}
