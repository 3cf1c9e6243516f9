//! Which mirrors are missing, and which are too many.

use std::collections::{BTreeMap, BTreeSet};

use agent_core::{Life, PodName};
use agent_loops::ports::{SourceSnapshot, WantedPod};
use agent_loops::{PodBoard, PodSnapshot};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::pods::cache::ApiPods;
use crate::pods::marks::{MIRROR, is_static, mirror_hash, static_hash};

/// The node, which owns the mirrors. The API server refuses mirrors that say anything else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Create {
        name: PodName,
        pod: Box<Pod>,
    },
    /// At once, and only the mirror with this UID.
    Delete {
        name: PodName,
        uid: String,
    },
}

impl Step {
    pub(super) fn name(&self) -> &PodName {
        match self {
            Self::Create { name, .. } | Self::Delete { name, .. } => name,
        }
    }
}

/// What to do now, at most one step a name.
///
/// Kubernetes 1.37: a mirror is made anew when its hash differs or when it is being deleted, and goes
/// when its static pod is gone, which is after it has ended.
pub(super) fn steps(
    statics: &[Option<SourceSnapshot>],
    board: &PodBoard,
    objects: &ApiPods,
    owner: Option<Owner<'_>>,
) -> Vec<Step> {
    if !objects.listed {
        return Vec::new();
    }
    let mut wanted: BTreeMap<&PodName, &WantedPod> = BTreeMap::new();
    for pod in statics.iter().flatten().flat_map(|source| &source.pods) {
        wanted.entry(&pod.want.name).or_insert(pod);
    }
    let present: BTreeSet<(&PodName, &str)> =
        board.values().filter_map(|pod| present(pod)).collect();
    let reported = statics.iter().all(Option::is_some);
    let mut steps = Vec::new();
    for (name, mirror) in &objects.mirrors {
        let hash = mirror_hash(mirror).unwrap_or_default();
        let keep = present.contains(&(name, hash))
            || match wanted.get(name) {
                Some(pod) => static_hash(&pod.manifest) == Some(hash),
                None => !reported,
            };
        let deleted = mirror.metadata.deletion_timestamp.is_some();
        if (!keep || deleted)
            && let Some(uid) = &mirror.metadata.uid
        {
            steps.push(Step::Delete {
                name: name.clone(),
                uid: uid.clone(),
            });
        }
    }
    let Some(owner) = owner else { return steps };
    for (name, pod) in wanted {
        let hash = static_hash(&pod.manifest).unwrap_or_default();
        // One that still ends goes before one that follows it under the same name.
        let ends = present
            .iter()
            .any(|(of, other)| *of == name && *other != hash);
        if objects.mirrors.contains_key(name) || ends {
            continue;
        }
        steps.push(Step::Create {
            name: name.clone(),
            pod: Box::new(mirror(&pod.manifest, owner)),
        });
    }
    steps
}

/// Name and hash of a static pod of which something is left.
fn present(pod: &PodSnapshot) -> Option<(&PodName, &str)> {
    let manifest = pod.manifest.as_deref().filter(|pod| is_static(pod))?;
    (pod.life != Life::Done).then_some((&pod.name, static_hash(manifest)?))
}

/// What is sent for a static pod.
fn mirror(pod: &Pod, owner: Owner<'_>) -> Pod {
    let mut annotations = pod.metadata.annotations.clone().unwrap_or_default();
    let hash = static_hash(pod).unwrap_or_default().to_owned();
    annotations.insert(MIRROR.to_owned(), hash);
    Pod {
        metadata: ObjectMeta {
            name: pod.metadata.name.clone(),
            namespace: pod.metadata.namespace.clone(),
            labels: pod.metadata.labels.clone(),
            annotations: Some(annotations),
            owner_references: Some(vec![OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Node".to_owned(),
                name: owner.name.to_owned(),
                uid: owner.uid.to_owned(),
                controller: Some(true),
                block_owner_deletion: None,
            }]),
            ..ObjectMeta::default()
        },
        spec: pod.spec.clone(),
        status: None,
    }
}

#[cfg(test)]
mod tests;
