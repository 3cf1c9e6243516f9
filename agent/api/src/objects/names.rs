//! What a manifest refers to.
//!
//! Kubernetes 1.37 (`pkg/api/v1/pod`, `pkg/volume`): the fields read here are the ones the stock kubelet
//! registers for a pod.

use std::collections::{BTreeMap, BTreeSet};

use agent_loops::ports::ProjectedSource;
use k8s_openapi::api::core::v1::{
    EnvFromSource, EnvVar, LocalObjectReference, Pod, PodCertificateProjection, PodSpec,
    ProjectedVolumeSource, Volume,
};

use super::tokens::TokenAsk;
use super::trust::TrustAsk;

/// Everything that one manifest names, each name once.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Secrets.
    pub(super) secrets: BTreeSet<String>,
    /// ConfigMaps.
    pub(super) config_maps: BTreeSet<String>,
    /// PersistentVolumeClaims; true: made for this pod, so that the pod has to own it.
    pub(super) claims: BTreeMap<String, bool>,
    /// ServiceAccount tokens.
    pub(super) tokens: BTreeMap<ProjectedSource, TokenAsk>,
    /// Trust bundles.
    pub(super) trust: BTreeMap<ProjectedSource, TrustAsk>,
    /// Certificates.
    pub(super) certificates: BTreeMap<ProjectedSource, PodCertificateProjection>,
    /// RuntimeClass, if the pod names one.
    pub(super) runtime_class: Option<String>,
    /// The ServiceAccount that the pod runs as.
    pub(super) service_account: String,
    /// Variables of all Services of the pod's namespace are wanted.
    pub(super) service_links: bool,
}

impl Names {
    /// Reads a manifest.
    pub(super) fn of(pod: &Pod) -> Self {
        let mut names = Self::default();
        let Some(spec) = &pod.spec else { return names };
        names.service_account = match spec.service_account_name.as_deref() {
            None | Some("") => "default".to_owned(),
            Some(name) => name.to_owned(),
        };
        names.service_links = spec.enable_service_links.unwrap_or(true);
        names.runtime_class = spec
            .runtime_class_name
            .clone()
            .filter(|name| !name.is_empty());
        for secret in spec.image_pull_secrets.iter().flatten() {
            names.secret(&secret.name);
        }
        for (env, from) in variables(spec) {
            names.variables(env, from);
        }
        let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
        for volume in spec.volumes.iter().flatten() {
            names.volume(volume, pod_name);
        }
        names
    }

    fn secret(&mut self, name: &str) {
        if !name.is_empty() {
            self.secrets.insert(name.to_owned());
        }
    }

    fn config_map(&mut self, name: &str) {
        if !name.is_empty() {
            self.config_maps.insert(name.to_owned());
        }
    }

    fn variables(&mut self, env: &[EnvVar], from: &[EnvFromSource]) {
        for source in from {
            if let Some(secret) = &source.secret_ref {
                self.secret(&secret.name);
            }
            if let Some(config_map) = &source.config_map_ref {
                self.config_map(&config_map.name);
            }
        }
        for source in env
            .iter()
            .filter_map(|variable| variable.value_from.as_ref())
        {
            if let Some(key) = &source.secret_key_ref {
                self.secret(&key.name);
            }
            if let Some(key) = &source.config_map_key_ref {
                self.config_map(&key.name);
            }
        }
    }

    fn volume(&mut self, volume: &Volume, pod: &str) {
        if let Some(source) = &volume.secret {
            self.secret(source.secret_name.as_deref().unwrap_or_default());
        }
        if let Some(source) = &volume.config_map {
            self.config_map(&source.name);
        }
        if let Some(source) = &volume.persistent_volume_claim {
            self.claims.insert(source.claim_name.clone(), false);
        }
        if volume.ephemeral.is_some() {
            self.claims.insert(format!("{pod}-{}", volume.name), true);
        }
        if let Some(source) = &volume.projected {
            self.projected(&volume.name, source);
        }
        for name in storage_secrets(volume) {
            self.secret(name);
        }
    }

    fn projected(&mut self, volume: &str, projected: &ProjectedVolumeSource) {
        for (index, source) in projected.sources.iter().flatten().enumerate() {
            let at = || ProjectedSource {
                volume: volume.to_owned(),
                index,
            };
            if let Some(secret) = &source.secret {
                self.secret(&secret.name);
            }
            if let Some(config_map) = &source.config_map {
                self.config_map(&config_map.name);
            }
            if let Some(token) = &source.service_account_token {
                let ask = TokenAsk {
                    account: self.service_account.clone(),
                    audience: token.audience.clone().filter(|text| !text.is_empty()),
                    expiration_seconds: token.expiration_seconds,
                };
                self.tokens.insert(at(), ask);
            }
            if let Some(bundle) = &source.cluster_trust_bundle {
                self.trust.insert(at(), TrustAsk::of(bundle));
            }
            if let Some(certificate) = &source.pod_certificate {
                self.certificates.insert(at(), certificate.clone());
            }
        }
    }
}

/// `env` and `envFrom` of all containers.
fn variables(spec: &PodSpec) -> impl Iterator<Item = (&[EnvVar], &[EnvFromSource])> {
    let init = spec.init_containers.iter().flatten();
    let plain = init
        .chain(&spec.containers)
        .map(|container| (container.env.as_deref(), container.env_from.as_deref()));
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    let ephemeral = ephemeral.map(|one| (one.env.as_deref(), one.env_from.as_deref()));
    plain
        .chain(ephemeral)
        .map(|(env, from)| (env.unwrap_or_default(), from.unwrap_or_default()))
}

/// Secrets with which storage is reached.
fn storage_secrets(volume: &Volume) -> impl Iterator<Item = &str> {
    fn of(reference: Option<&LocalObjectReference>) -> Option<&str> {
        reference.map(|reference| reference.name.as_str())
    }
    [
        volume.azure_file.as_ref().map(|it| it.secret_name.as_str()),
        of(volume.cephfs.as_ref().and_then(|it| it.secret_ref.as_ref())),
        of(volume.cinder.as_ref().and_then(|it| it.secret_ref.as_ref())),
        of(volume
            .flex_volume
            .as_ref()
            .and_then(|it| it.secret_ref.as_ref())),
        of(volume.rbd.as_ref().and_then(|it| it.secret_ref.as_ref())),
        of(volume.scale_io.as_ref().map(|it| &it.secret_ref)),
        of(volume.iscsi.as_ref().and_then(|it| it.secret_ref.as_ref())),
        of(volume
            .storageos
            .as_ref()
            .and_then(|it| it.secret_ref.as_ref())),
        of(volume
            .csi
            .as_ref()
            .and_then(|it| it.node_publish_secret_ref.as_ref())),
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests;
