//! What is kept for one pod.

use std::sync::Arc;

use agent_core::PodUid;
use agent_loops::ports::WantedPod;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::certificates::Certificates;
use super::claims::Claims;
use super::names::Names;
use super::service_accounts::ProviderTokens;
use super::tokens::Tokens;

/// A pod that was asked about and not yet forgotten. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The manifest that `names` was read from.
    pub(super) manifest: Arc<Pod>,
    /// What it refers to.
    pub(super) names: Arc<Names>,
    /// Who it is.
    pub(super) pod: Arc<PodFacts>,
    /// Its tokens.
    pub(super) tokens: Arc<Tokens>,
    /// Its tokens for credential providers.
    pub(super) provider_tokens: Arc<ProviderTokens>,
    /// Its certificates.
    pub(super) certificates: Arc<Certificates>,
    /// Its volumes.
    pub(super) claims: Arc<Claims>,
}

/// Who a pod is.
#[derive(Clone, Debug)]
pub(super) struct PodFacts {
    pub(super) uid: PodUid,
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
    /// The ServiceAccount that it runs as.
    pub(super) account: String,
}

impl PodFacts {
    /// The pod as the owner of an object.
    pub(super) fn as_owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: self.name.to_string(),
            uid: self.uid.to_string(),
            ..OwnerReference::default()
        }
    }
}

impl Record {
    /// A pod that was not known.
    pub(super) fn new(pod: &WantedPod) -> Self {
        let names = Arc::new(Names::of(&pod.manifest));
        let facts = PodFacts {
            uid: pod.want.uid.clone(),
            namespace: Arc::clone(&pod.want.name.namespace),
            name: Arc::clone(&pod.want.name.name),
            account: names.service_account.clone(),
        };
        Self {
            manifest: Arc::clone(&pod.manifest),
            names,
            pod: Arc::new(facts),
            tokens: Arc::default(),
            provider_tokens: Arc::default(),
            certificates: Arc::default(),
            claims: Arc::default(),
        }
    }

    /// The same pod with another manifest: what was brought for it stays.
    pub(super) fn renewed(&self, pod: &WantedPod) -> Self {
        Self {
            manifest: Arc::clone(&pod.manifest),
            names: Arc::new(Names::of(&pod.manifest)),
            ..self.clone()
        }
    }
}
