//! What the agent shows of its pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_core::{Action, Failure, Life, PodName, PodStatus, PodUid, Step};
use k8s_openapi::api::core::v1::Pod;

use crate::ports::DeviceGrant;

/// All pods by UID. A change copies the pointers, not the pods.
pub type PodBoard = BTreeMap<PodUid, Arc<PodSnapshot>>;

/// One pod as it is now.
#[derive(Clone, Debug)]
pub struct PodSnapshot {
    /// Identity.
    pub uid: PodUid,
    /// Name.
    pub name: PodName,
    /// The manifest; `None` for a pod that no source wants.
    pub manifest: Option<Arc<Pod>>,
    /// Stage of its life.
    pub life: Life,
    /// Status as Kubernetes shows it; it carries the reason why the pod waits.
    pub status: PodStatus,
    /// What the newest plan does, with causes; empty when there is nothing to do.
    pub steps: Vec<Step>,
    /// Something of `steps` waits for a start slot.
    pub queued: bool,
    /// Actions that failed last and when they are tried again.
    pub failures: BTreeMap<Action, Failure>,
    /// Devices held, by container.
    pub grants: Arc<Vec<DeviceGrant>>,
}

/// News of pods for the supervisor: per pod only the newest, so at most one entry a pod.
pub(crate) type PodChanges = BTreeMap<PodUid, Arc<PodSnapshot>>;

impl PodSnapshot {
    /// Whether both show the same. Manifest and grants are compared by identity: they are replaced,
    /// never changed.
    pub(crate) fn shows(&self, other: &Self) -> bool {
        let manifest = match (&self.manifest, &other.manifest) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (None, None) => true,
            _ => false,
        };
        // A pod without devices gets a new empty list each time.
        let grants = Arc::ptr_eq(&self.grants, &other.grants)
            || (self.grants.is_empty() && other.grants.is_empty());
        manifest
            && grants
            && self.life == other.life
            && self.status == other.status
            && self.steps == other.steps
            && self.queued == other.queued
            && self.failures == other.failures
    }
}
