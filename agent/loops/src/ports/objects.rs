//! What the manifests of pods refer to in the API, as the loops need it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use agent_core::{Fail, PodUid, Time};
use async_trait::async_trait;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolume, Secret};
use tokio::sync::watch;

use super::WantedPod;

/// Door to the objects that manifests name. Answers come from caches that watches keep fresh, so that
/// asking again costs nothing.
#[async_trait]
pub trait Objects: Send + Sync + fmt::Debug + 'static {
    /// Everything the pod refers to, as it is now. What is missing is told at its own place, so that
    /// the volume or variable that needs it can say so, as `Gone`; what is not known yet is `Retry` there.
    /// `Err` only when nothing can be told at all: the Services were never read, so that no container may
    /// start. The first question waits a moment for answers; later ones do not, since the answer is then
    /// a change.
    async fn references(&self, pod: &WantedPod) -> Result<Arc<References>, Fail>;
    /// Pods for which `references` may answer differently than before.
    fn changes(&self) -> watch::Receiver<ObjectChanges>;
    /// The pod is gone: its watches end, its tokens and keys are forgotten.
    async fn forget(&self, uid: &PodUid);
}

/// Which pods have been touched, by a number that only rises.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectChanges {
    /// Number of the newest change.
    pub generation: u64,
    /// Number of the newest change of each pod's objects; 0: none since it was first asked about. A pod that
    /// was forgotten is missing.
    pub pods: BTreeMap<PodUid, u64>,
}

/// What one pod refers to. Objects are keyed by name; they are in the pod's namespace.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// Secrets of volumes, variables and `imagePullSecrets`.
    pub secrets: BTreeMap<String, Result<Arc<Secret>, Fail>>,
    /// ConfigMaps of volumes and variables.
    pub config_maps: BTreeMap<String, Result<Arc<ConfigMap>, Fail>>,
    /// Volumes bound to the pod's PersistentVolumeClaims, by claim name.
    pub claims: BTreeMap<String, Result<Arc<PersistentVolume>, Fail>>,
    /// ServiceAccount tokens of projected volumes.
    pub tokens: BTreeMap<ProjectedSource, Result<Token, Fail>>,
    /// Trust bundles of projected volumes, in PEM. Empty when nothing was found and the source is optional.
    pub trust_bundles: BTreeMap<ProjectedSource, Result<Arc<str>, Fail>>,
    /// Certificates of projected volumes.
    pub certificates: BTreeMap<ProjectedSource, Result<Arc<PodCertificate>, Fail>>,
    /// Environment of the Services that the pod sees, in a stable order.
    pub services: Vec<(String, String)>,
    /// The runtime handler of the pod's RuntimeClass; empty: the default one.
    pub runtime_handler: Option<Result<String, Fail>>,
    /// A token or certificate has to be renewed then: ask again.
    pub refresh_at: Option<Time>,
}

/// One entry of `sources` of a projected volume.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProjectedSource {
    /// Volume.
    pub volume: String,
    /// Index in its `sources`.
    pub index: usize,
}

/// A ServiceAccount token. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(pub Arc<str>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Key and certificate chain of a pod, in PEM. The key is never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct PodCertificate {
    /// PKCS #8.
    pub key: String,
    /// Leaf first.
    pub chain: String,
}

impl fmt::Debug for PodCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PodCertificate").finish_non_exhaustive()
    }
}

impl ObjectChanges {
    /// Pods touched after change number `since`.
    pub fn after(&self, since: u64) -> BTreeSet<PodUid> {
        let newer = self.pods.iter().filter(|(_, at)| **at > since);
        newer.map(|(uid, _)| uid.clone()).collect()
    }
}
