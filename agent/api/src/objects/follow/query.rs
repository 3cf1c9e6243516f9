//! What is watched.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use kube::runtime::watcher;

/// Selects objects of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::objects) struct Query {
    /// Namespace; `None`: all, or a kind without namespaces.
    pub(in crate::objects) namespace: Option<String>,
    /// Field selector.
    pub(in crate::objects) fields: Option<String>,
    /// Label selector.
    pub(in crate::objects) labels: Option<String>,
}

impl Query {
    /// One object by its name. The Node authorizer lets a node read secrets and ConfigMaps only so.
    pub(in crate::objects) fn named(namespace: Option<&str>, name: &str) -> Self {
        Self {
            namespace: namespace.map(str::to_owned),
            fields: Some(format!("metadata.name={name}")),
            labels: None,
        }
    }

    pub(super) fn config(&self) -> watcher::Config {
        watcher::Config {
            field_selector: self.fields.clone(),
            label_selector: self.labels.clone(),
            ..watcher::Config::default()
        }
    }

    /// A delay made longer by up to as much again, differently for each query, so that watches which
    /// broke together do not come back together.
    pub(super) fn spread(&self, delay: Duration) -> Duration {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        delay + spread(delay, hasher.finish())
    }
}

/// A share of `most` that a number decides.
pub(in crate::objects) fn spread(most: Duration, number: u64) -> Duration {
    let share = u32::try_from(number % 1000).unwrap_or(0);
    most * share / 1000
}
