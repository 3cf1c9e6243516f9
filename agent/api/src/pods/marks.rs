//! Annotations that tell static pods and their mirrors from pods of the API (Kubernetes 1.37).

use k8s_openapi::api::core::v1::Pod;

/// On mirror pods: hash of the static pod that is mirrored.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";
/// On static pods: the hash itself, which is their UID.
const HASH: &str = "kubernetes.io/config.hash";
/// On static pods: `file` or `http`.
const SOURCE: &str = "kubernetes.io/config.source";

/// Whether a manifest came from another source than the API.
pub(crate) fn is_static(pod: &Pod) -> bool {
    annotation(pod, SOURCE).is_some_and(|source| source != "api")
}

/// Hash of a static pod.
pub(crate) fn static_hash(pod: &Pod) -> Option<&str> {
    annotation(pod, HASH)
}

/// Hash that a mirror pod carries; `None` for any other pod.
pub(crate) fn mirror_hash(pod: &Pod) -> Option<&str> {
    annotation(pod, MIRROR)
}

fn annotation<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    let annotations = pod.metadata.annotations.as_ref()?;
    annotations.get(key).map(String::as_str)
}
