//! The task behind one watch.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use base_daemon::Backoff;
use futures::StreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt};

use super::{Followed, FollowedKind, Found, Object, Query, Seen, Tell, lock};
use crate::objects::changes::Changes;
use crate::request::RequestFailure;

/// First delay while nothing was read: the API server may not have seen yet that the pod is bound to this
/// node, and refuses until then.
const SOON: Duration = Duration::from_millis(50);
/// Longest delay while nothing was read: a pod waits for it.
const WAITED_FOR: Duration = Duration::from_secs(10);
/// First delay of a watch that broke. Kubernetes 1.37: the same.
const LATER: Duration = Duration::from_millis(800);
/// Longest delay of a watch that broke. Kubernetes 1.37: the same.
const LONGEST: Duration = Duration::from_secs(30);

/// Keeps `followed` fresh until its objects are final.
pub(super) async fn run<K: Object>(
    kind: Arc<FollowedKind<K>>,
    query: Query,
    followed: Arc<Followed<K>>,
    changes: Arc<Changes>,
) {
    let writer = Writer {
        kind,
        followed,
        changes,
    };
    let mut retry = Backoff::new(SOON, WAITED_FOR);
    let api = loop {
        match (writer.kind.open)(query.namespace.as_deref()).await {
            Ok(api) => break api,
            Err(failure) => writer.fail(failure),
        }
        tokio::time::sleep(query.spread(retry.step())).await;
    };
    follow(api, &query, &writer, retry).await;
}

async fn follow<K: Object>(api: Api<K>, query: &Query, writer: &Writer<K>, mut retry: Backoff) {
    let mut events = pin!(watcher::watcher(api, query.config()));
    // A list is taken over when it is complete: until then the old objects stand.
    let mut list: Found<K> = BTreeMap::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => list.clear(),
            Ok(Event::InitApply(object)) => {
                let (key, object) = writer.prepare(object);
                list.insert(key, object);
            }
            Ok(Event::InitDone) => {
                writer.replace(std::mem::take(&mut list));
                retry = Backoff::new(LATER, LONGEST);
            }
            Ok(Event::Apply(object)) => {
                writer.apply(object);
                retry.reset();
            }
            Ok(Event::Delete(object)) => {
                writer.delete(&object);
                retry.reset();
            }
            Err(error) => {
                let failure = RequestFailure::from(&error);
                tracing::debug!(query = ?query, why = %failure, "watch to be tried again");
                writer.fail(failure);
                tokio::time::sleep(query.spread(retry.step())).await;
            }
        }
        if writer.is_final() {
            tracing::debug!(query = ?query, "watch ends: the object is immutable");
            return;
        }
    }
}

struct Writer<K> {
    kind: Arc<FollowedKind<K>>,
    followed: Arc<Followed<K>>,
    changes: Arc<Changes>,
}

impl<K: Object> Writer<K> {
    fn prepare(&self, mut object: K) -> ((String, String), Arc<K>) {
        object.meta_mut().managed_fields = None;
        (self.kind.trim)(&mut object);
        (key(&object), Arc::new(object))
    }

    fn replace(&self, list: Found<K>) {
        let mut first = false;
        let changed = self.followed.seen.change(|seen| {
            let changed = match seen {
                Seen::Unread(_) => {
                    first = true;
                    true
                }
                Seen::Read(old) => !same(old, &list),
            };
            *seen = Seen::Read(list);
            changed
        });
        // Whoever waits for the first read gets it there; only those who gave up have to hear of it.
        if first {
            if self.followed.seen.take_missed() {
                self.touch();
            }
        } else if changed {
            self.news();
        }
    }

    fn apply(&self, object: K) {
        let (key, object) = self.prepare(object);
        let changed = self.change(|found| {
            let known = found.get(&key);
            let changed = known.is_none_or(|known| version(&**known) != version(&*object));
            found.insert(key, object);
            changed
        });
        if changed {
            self.news();
        }
    }

    fn delete(&self, object: &K) {
        if self.change(|found| found.remove(&key(object)).is_some()) {
            self.news();
        }
    }

    fn change(&self, change: impl FnOnce(&mut Found<K>) -> bool) -> bool {
        self.followed.seen.change(|seen| match seen {
            Seen::Read(found) => change(found),
            Seen::Unread(_) => false,
        })
    }

    /// What was read stays: only who has nothing yet hears why.
    fn fail(&self, failure: RequestFailure) {
        self.followed.seen.change(|seen| {
            if let Seen::Unread(why) = seen {
                *why = Some(failure);
            }
            false
        });
    }

    fn is_final(&self) -> bool {
        self.followed.seen.look(|seen| match seen {
            Seen::Read(found) => {
                !found.is_empty() && found.values().all(|object| (self.kind.is_final)(object))
            }
            Seen::Unread(_) => false,
        })
    }

    fn news(&self) {
        if self.kind.tell == Tell::Changes {
            self.touch();
        }
    }

    fn touch(&self) {
        self.changes.touch(&*lock(&self.followed.referers));
    }
}

fn key<K: Object>(object: &K) -> (String, String) {
    let name = object.meta().name.clone().unwrap_or_default();
    (object.namespace().unwrap_or_default(), name)
}

fn version<K: Object>(object: &K) -> Option<&str> {
    object.meta().resource_version.as_deref()
}

fn same<K: Object>(one: &Found<K>, other: &Found<K>) -> bool {
    let versions = |found: &Found<K>| -> Vec<_> {
        let each = found.iter();
        each.map(|(key, object)| (key.clone(), version(&**object).map(str::to_owned)))
            .collect()
    };
    versions(one) == versions(other)
}
