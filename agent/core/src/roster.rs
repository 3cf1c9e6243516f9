//! Which pods to start, stop or leave alone, by comparing what is wanted with what is known.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{PodName, PodUid};
use crate::plan::StopWhy;

/// Proof that every source has reported at least once, so that a pod nobody named is nobody's.
/// Only the rung of the start-up ladder where that is true implements it.
pub trait Synced {}

/// A pod that some owner task has, or that the runtime shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownPod<'a> {
    /// Identity.
    pub uid: &'a PodUid,
    /// Namespace and name; two pods of one name never run side by side.
    pub name: &'a PodName,
    /// How far it is.
    pub stage: Stage,
}

/// How far a known pod is, as far as the roster cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The runtime shows it, or left-overs of it are on the host; it has no manifest yet.
    Found,
    /// It has a manifest and is kept running, or has ended and is kept visible.
    Kept,
    /// A stop was asked for.
    Stopping,
}

/// What to do about one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Give it its manifest, whether or not the runtime shows something of it already.
    Start(PodUid),
    /// Nothing.
    Keep(PodUid),
    /// Stop it.
    Stop {
        /// Which one.
        uid: PodUid,
        /// The cause.
        why: StopWhy,
    },
    /// Wanted, but another pod of that name, or an earlier life of itself, has to be gone first.
    Wait {
        /// Which one.
        uid: PodUid,
        /// Behind which one.
        behind: PodUid,
    },
}

/// One change for each wanted and each known pod: the wanted ones first, in their order.
///
/// Of two wanted pods with one name the first is taken. Without proof that all sources have
/// reported, a pod without a manifest is left alone.
pub fn roster(
    known: &[KnownPod<'_>],
    wanted: &[(&PodUid, &PodName)],
    synced: Option<&dyn Synced>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut taken: BTreeMap<&PodName, &PodUid> = BTreeMap::new();
    let mut named: BTreeSet<&PodUid> = BTreeSet::new();
    for (uid, name) in wanted {
        if !named.insert(uid) {
            continue;
        }
        let first = *taken.entry(name).or_insert(uid);
        changes.push(if first == *uid {
            wanted_pod(known, uid, name)
        } else {
            Change::Wait {
                uid: (*uid).clone(),
                behind: first.clone(),
            }
        });
    }
    for pod in known.iter().filter(|pod| !named.contains(pod.uid)) {
        changes.push(unwanted_pod(pod, synced.is_some()));
    }
    changes
}

fn wanted_pod(known: &[KnownPod<'_>], uid: &PodUid, name: &PodName) -> Change {
    let uid_and = |behind: &PodUid| Change::Wait {
        uid: uid.clone(),
        behind: behind.clone(),
    };
    match known.iter().find(|pod| pod.uid == uid).map(|pod| pod.stage) {
        Some(Stage::Kept) => Change::Keep(uid.clone()),
        Some(Stage::Stopping) => uid_and(uid),
        Some(Stage::Found) | None => {
            match known.iter().find(|pod| pod.name == name && pod.uid != uid) {
                Some(other) => uid_and(other.uid),
                None => Change::Start(uid.clone()),
            }
        }
    }
}

fn unwanted_pod(pod: &KnownPod<'_>, synced: bool) -> Change {
    let stop = |why| Change::Stop {
        uid: pod.uid.clone(),
        why,
    };
    match pod.stage {
        Stage::Kept => stop(StopWhy::Removed),
        Stage::Found if synced => stop(StopWhy::Stranger),
        Stage::Found | Stage::Stopping => Change::Keep(pod.uid.clone()),
    }
}

#[cfg(test)]
mod tests;
