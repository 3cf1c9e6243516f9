//! Which content of which file counts: the newest that can be used, else the one that runs. No two
//! files have one pod name or UID; who runs keeps it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::{PodName, PodUid};
use agent_loops::ports::{SourceProblem, WantedPod};

/// A content that is a pod.
#[derive(Clone, Debug)]
pub(super) struct Good {
    pub(super) text: Arc<[u8]>,
    pub(super) pod: WantedPod,
}

/// What a file gives.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its newest content, or what is wrong with it.
    pub(super) newest: Result<Good, String>,
    /// The content that its pod runs on.
    pub(super) used: Option<Good>,
}

/// Moves every entry to its newest content where that can be used, and tells where not.
pub(super) fn settle(entries: &mut BTreeMap<PathBuf, Entry>) -> Vec<SourceProblem> {
    loop {
        let (accepted, problems) = judge(entries);
        if accepted.is_empty() {
            return problems;
        }
        // A pod that took another name has freed its old one, which somebody may wait for.
        for path in accepted {
            if let Some(entry) = entries.get_mut(&path) {
                entry.used = entry.newest.as_ref().ok().cloned();
            }
        }
    }
}

/// Files whose newest content is usable and not used yet, and the problems of the others.
fn judge(entries: &BTreeMap<PathBuf, Entry>) -> (Vec<PathBuf>, Vec<SourceProblem>) {
    let mut names: BTreeMap<&PodName, &Path> = BTreeMap::new();
    let mut uids: BTreeMap<&PodUid, &Path> = BTreeMap::new();
    for (path, entry) in entries {
        if let Some(used) = &entry.used {
            names.insert(&used.pod.want.name, path);
            uids.insert(&used.pod.want.uid, path);
        }
    }
    let mut accepted = Vec::new();
    let mut problems = Vec::new();
    for (path, entry) in entries {
        let refusal = match &entry.newest {
            Err(message) => Some(message.clone()),
            Ok(newest) => {
                let want = &newest.pod.want;
                let name_owner = names.get(&want.name).filter(|owner| **owner != path);
                let uid_owner = uids.get(&want.uid).filter(|owner| **owner != path);
                if let Some(owner) = name_owner {
                    Some(format!(
                        "the name {} is taken by {}",
                        want.name,
                        owner.display()
                    ))
                } else if let Some(owner) = uid_owner {
                    Some(format!(
                        "the UID {} is taken by {}",
                        want.uid,
                        owner.display()
                    ))
                } else {
                    names.insert(&want.name, path);
                    uids.insert(&want.uid, path);
                    None
                }
            }
        };
        match (refusal, &entry.newest) {
            (Some(message), _) => problems.push(SourceProblem {
                path: path.clone(),
                message,
                running_on: entry.used.as_ref().map(|used| used.pod.want.name.clone()),
            }),
            (None, Ok(newest)) if !is_used(newest, entry) => accepted.push(path.clone()),
            (None, _) => {}
        }
    }
    (accepted, problems)
}

fn is_used(newest: &Good, entry: &Entry) -> bool {
    entry
        .used
        .as_ref()
        .is_some_and(|used| Arc::ptr_eq(&used.pod.manifest, &newest.pod.manifest))
}
