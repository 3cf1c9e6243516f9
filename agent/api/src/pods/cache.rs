//! The newest objects that the watch has shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_core::{PodName, PodUid};
use k8s_openapi::api::core::v1::Pod;

/// Pods of this node as the API server has them, their statuses included. A change copies the
/// pointers, not the pods; an unchanged pod keeps its pointer.
#[derive(Clone, Debug, Default)]
pub struct ApiPods {
    /// The list has been read: what is not here does not exist.
    pub listed: bool,
    /// Pods that were bound to this node.
    pub pods: BTreeMap<PodUid, Arc<Pod>>,
    /// Mirrors of static pods, by name.
    pub mirrors: BTreeMap<PodName, Arc<Pod>>,
}

/// Namespace and name of an object.
pub(super) fn name(pod: &Pod) -> PodName {
    PodName::new(
        pod.metadata.namespace.as_deref().unwrap_or_default(),
        pod.metadata.name.as_deref().unwrap_or_default(),
    )
}
