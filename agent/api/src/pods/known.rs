//! What the watch has shown so far, and what follows for the loops.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use agent_core::{PodUid, PodWant};
use agent_loops::ports::{SourceProblem, SourceSnapshot, WantedPod};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::Event;

use super::cache::{ApiPods, name};
use super::mirror_hash;
use crate::manifest;

/// All pods of this node.
#[derive(Debug, Default)]
pub(super) struct Known {
    entries: BTreeMap<PodUid, Entry>,
    /// Pods seen in the list that is being read.
    listing: Option<BTreeSet<PodUid>>,
    listed: bool,
    /// Something the loops should know.
    wanted_changed: bool,
    /// Some object changed.
    objects_changed: bool,
}

#[derive(Debug)]
struct Entry {
    newest: Arc<Pod>,
    role: Role,
}

#[derive(Debug)]
enum Role {
    Wanted(WantedPod),
    Mirror,
    Unusable(SourceProblem),
}

impl Known {
    /// Takes in what the watch shows.
    pub(super) fn take(&mut self, event: Event<Pod>) {
        match event {
            Event::Init => self.listing = Some(BTreeSet::new()),
            Event::InitApply(pod) => {
                let uid = uid(&pod);
                self.listing.get_or_insert_default().insert(uid.clone());
                self.apply(uid, pod);
            }
            Event::InitDone => self.list_done(),
            Event::Apply(pod) => self.apply(uid(&pod), pod),
            Event::Delete(pod) => self.remove(&uid(&pod)),
        }
    }

    /// The content for the loops, if it changed. Nothing while a list is being read: half a list
    /// looks as if pods were gone.
    pub(super) fn snapshot(&mut self) -> Option<SourceSnapshot> {
        if !self.is_whole() || !std::mem::take(&mut self.wanted_changed) {
            return None;
        }
        let mut snapshot = SourceSnapshot::default();
        for entry in self.entries.values() {
            match &entry.role {
                Role::Wanted(pod) => snapshot.pods.push(pod.clone()),
                Role::Unusable(problem) => snapshot.problems.push(problem.clone()),
                Role::Mirror => {}
            }
        }
        // Who was made first gets devices and start slots first.
        snapshot.pods.sort_by_cached_key(|pod| {
            let created = pod.manifest.metadata.creation_timestamp.clone();
            (created, pod.want.name.clone(), pod.want.uid.clone())
        });
        Some(snapshot)
    }

    /// The objects, if one changed.
    pub(super) fn objects(&mut self) -> Option<ApiPods> {
        if !self.is_whole() || !std::mem::take(&mut self.objects_changed) {
            return None;
        }
        let mut objects = ApiPods {
            listed: true,
            ..ApiPods::default()
        };
        for (uid, entry) in &self.entries {
            let pod = Arc::clone(&entry.newest);
            if matches!(entry.role, Role::Mirror) {
                objects.mirrors.insert(name(&pod), pod);
            } else {
                objects.pods.insert(uid.clone(), pod);
            }
        }
        Some(objects)
    }

    fn is_whole(&self) -> bool {
        self.listed && self.listing.is_none()
    }

    fn list_done(&mut self) {
        let seen = self.listing.take().unwrap_or_default();
        let gone: Vec<PodUid> = self.entries.keys().cloned().collect();
        for uid in gone.iter().filter(|uid| !seen.contains(uid)) {
            self.remove(uid);
        }
        if !self.listed {
            // Also an empty node has been reported.
            (self.listed, self.wanted_changed, self.objects_changed) = (true, true, true);
        }
    }

    fn remove(&mut self, uid: &PodUid) {
        if let Some(entry) = self.entries.remove(uid) {
            self.objects_changed = true;
            self.wanted_changed |= !matches!(entry.role, Role::Mirror);
        }
    }

    fn apply(&mut self, uid: PodUid, mut pod: Pod) {
        // Half of an object's size, and nothing here reads it.
        pod.metadata.managed_fields = None;
        let old = self.entries.get(&uid);
        let version = |pod: &Pod| pod.metadata.resource_version.clone();
        if old.is_some_and(|old| version(&old.newest) == version(&pod)) {
            return;
        }
        self.objects_changed = true;
        let pod = Arc::new(pod);
        let role = if mirror_hash(&pod).is_some() {
            Role::Mirror
        } else {
            match manifest::from_api(&pod) {
                Ok(want) => wanted(old, want, &pod),
                Err(cause) => Role::Unusable(SourceProblem {
                    path: PathBuf::from(format!("pods/{}", name(&pod))),
                    message: format!("the API server shows a pod that cannot run here: {cause}"),
                    running_on: None,
                }),
            }
        };
        self.wanted_changed |= match (&role, old.map(|old| &old.role)) {
            (Role::Wanted(new), Some(Role::Wanted(old))) => !is_same(new, old),
            (Role::Unusable(new), Some(Role::Unusable(old))) => new != old,
            (Role::Mirror, None | Some(Role::Mirror)) => false,
            _ => true,
        };
        let newest = pod;
        self.entries.insert(uid, Entry { newest, role });
    }
}

/// The wanted pod, as much of the old one as is still true.
fn wanted(old: Option<&Entry>, mut want: PodWant, pod: &Arc<Pod>) -> Role {
    let Some(Role::Wanted(old)) = old.map(|old| &old.role) else {
        return Role::Wanted(WantedPod {
            want: Arc::new(want),
            manifest: Arc::clone(pod),
        });
    };
    // It tells of the time before this process; what comes later is its own word.
    want.started_at = old.want.started_at;
    want.restarts.clone_from(&old.want.restarts);
    want.needs.app_armor = old.want.needs.app_armor;
    if old.want.over.is_some() {
        want.over.clone_from(&old.want.over);
    }
    let want = if *old.want == want {
        Arc::clone(&old.want)
    } else {
        Arc::new(want)
    };
    let manifest = if is_same_besides_status(&old.manifest, pod) && Arc::ptr_eq(&want, &old.want) {
        Arc::clone(&old.manifest)
    } else {
        Arc::clone(pod)
    };
    Role::Wanted(WantedPod { want, manifest })
}

fn is_same(one: &WantedPod, two: &WantedPod) -> bool {
    Arc::ptr_eq(&one.want, &two.want) && Arc::ptr_eq(&one.manifest, &two.manifest)
}

fn is_same_besides_status(old: &Pod, new: &Pod) -> bool {
    let mut metadata = old.metadata.clone();
    metadata
        .resource_version
        .clone_from(&new.metadata.resource_version);
    metadata == new.metadata && old.spec == new.spec
}

fn uid(pod: &Pod) -> PodUid {
    PodUid::new(pod.metadata.uid.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests;
