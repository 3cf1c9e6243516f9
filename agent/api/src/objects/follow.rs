//! Watches that pods share.
//!
//! A watch begins when the first pod refers to its query and ends when the last one that did is
//! forgotten. What was read stays usable while the API server is away: an object that was there is
//! gone only when the API server says so.

mod query;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_core::PodUid;
use futures::future::BoxFuture;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::awaited::Awaited;
use super::changes::Changes;
use super::task::Task;
use crate::request::RequestFailure;

pub(super) use query::{Query, spread};

/// Objects that were read, by namespace (empty: none) and name.
pub(super) type Found<K> = BTreeMap<(String, String), Arc<K>>;

/// What is known of a query.
#[derive(Clone)]
pub(super) enum Seen<K> {
    /// Nothing yet, and why if it was tried.
    Unread(Option<RequestFailure>),
    /// What was there when last heard of it.
    Read(Found<K>),
}

/// When the pods that refer to a query hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tell {
    /// Whenever an object is another one.
    Changes,
    /// Only when the first read comes after somebody gave up waiting for it.
    FirstRead,
}

/// Opens the API for a namespace, or for all. Asynchronous because the version may have to be found.
pub(super) type Open<K> =
    Box<dyn Fn(Option<&str>) -> BoxFuture<'static, Result<Api<K>, RequestFailure>> + Send + Sync>;

/// How objects of one kind are followed.
pub(super) struct FollowedKind<K> {
    /// Opens the API.
    pub(super) open: Open<K>,
    /// Drops what nobody reads, so that it takes no memory.
    pub(super) trim: fn(&mut K),
    /// The object can never be another one: its watch ends.
    pub(super) is_final: fn(&K) -> bool,
    /// Who hears of it.
    pub(super) tell: Tell,
}

/// What a type needs to be followed.
pub(super) trait Object:
    Resource + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static
{
}
impl<K: Resource + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static> Object for K {}

/// All watches of one kind.
pub(super) struct Follows<K> {
    kind: Arc<FollowedKind<K>>,
    changes: Arc<Changes>,
    // A plain lock: held for a look-up, never over an await.
    entries: Mutex<BTreeMap<Query, Entry<K>>>,
}

struct Entry<K> {
    followed: Arc<Followed<K>>,
    _task: Task,
}

/// One watch as its task and its readers share it.
struct Followed<K> {
    seen: Awaited<Seen<K>>,
    referers: Mutex<BTreeSet<PodUid>>,
}

impl<K: Object> Follows<K> {
    pub(super) fn new(kind: FollowedKind<K>, changes: Arc<Changes>) -> Self {
        Self {
            kind: Arc::new(kind),
            changes,
            entries: Mutex::default(),
        }
    }

    /// The pod refers to it from now on.
    pub(super) fn refer(&self, query: &Query, uid: &PodUid) {
        let mut entries = lock(&self.entries);
        let entry = entries.entry(query.clone()).or_insert_with(|| {
            let followed = Arc::new(Followed {
                seen: Awaited::new(Seen::Unread(None)),
                referers: Mutex::default(),
            });
            let run = watch::run(
                Arc::clone(&self.kind),
                query.clone(),
                Arc::clone(&followed),
                Arc::clone(&self.changes),
            );
            Entry {
                followed,
                _task: Task::start("object-watch", run),
            }
        });
        lock(&entry.followed.referers).insert(uid.clone());
    }

    /// The pod does not refer to it any more.
    pub(super) fn release(&self, query: &Query, uid: &PodUid) {
        let mut entries = lock(&self.entries);
        let Some(entry) = entries.get(query) else {
            return;
        };
        let unused = {
            let mut referers = lock(&entry.followed.referers);
            referers.remove(uid);
            referers.is_empty()
        };
        if unused {
            entries.remove(query);
        }
    }

    /// Looks at what a query found; the first time it waits for it a moment. `Err`: it was not read yet, and
    /// why if it was tried.
    pub(super) async fn read<R>(
        &self,
        query: &Query,
        look: impl FnOnce(&Found<K>) -> R,
    ) -> Result<R, Option<RequestFailure>> {
        let Some(followed) = self.followed(query) else {
            return Err(None);
        };
        let is_read = |seen: &Seen<K>| matches!(seen, Seen::Read(_));
        if !followed.seen.look(is_read) {
            followed.seen.settle(is_read).await;
        }
        followed.seen.look(|seen| match seen {
            Seen::Read(found) => Ok(look(found)),
            Seen::Unread(failure) => Err(failure.clone()),
        })
    }

    /// Looks at what a query found without waiting for it.
    pub(super) fn peek<R>(&self, query: &Query, look: impl FnOnce(&Found<K>) -> R) -> Option<R> {
        let followed = self.followed(query)?;
        followed.seen.look(|seen| match seen {
            Seen::Read(found) => Some(look(found)),
            Seen::Unread(_) => None,
        })
    }

    /// What a query finds, as it changes.
    pub(super) fn subscribe(&self, query: &Query) -> Option<tokio::sync::watch::Receiver<Seen<K>>> {
        Some(self.followed(query)?.seen.subscribe())
    }

    fn followed(&self, query: &Query) -> Option<Arc<Followed<K>>> {
        let entries = lock(&self.entries);
        entries.get(query).map(|entry| Arc::clone(&entry.followed))
    }
}

impl<K> fmt::Debug for Follows<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the objects: they may be secrets.
        f.debug_struct("Follows")
            .field("queries", &lock(&self.entries).len())
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
