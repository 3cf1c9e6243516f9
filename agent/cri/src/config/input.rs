//! A pod as the builders read it.

use std::borrow::Cow;

use agent_core::PodWant;
use agent_loops::ports::{PreparedPod, References, WantedPod};
use k8s_openapi::api::core::v1::{Container, EphemeralContainer, PodSecurityContext, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::error::ConfigError;
use super::settings::NodeSettings;

/// Everything about a pod that goes into its configuration. Name, namespace and UID are those of
/// `want`: a manifest from a file need not have them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodInput<'a> {
    pub(crate) want: &'a PodWant,
    pub(crate) metadata: &'a ObjectMeta,
    pub(crate) spec: &'a PodSpec,
    pub(crate) prepared: &'a PreparedPod,
    pub(crate) references: &'a References,
    pub(crate) node: &'a NodeSettings,
}

impl<'a> PodInput<'a> {
    pub(crate) fn new(
        pod: &'a WantedPod,
        prepared: &'a PreparedPod,
        references: &'a References,
        node: &'a NodeSettings,
    ) -> Result<Self, ConfigError> {
        let spec = pod.manifest.spec.as_ref().ok_or(ConfigError::NoSpec)?;
        Ok(Self {
            want: &pod.want,
            metadata: &pod.manifest.metadata,
            spec,
            prepared,
            references,
            node,
        })
    }

    /// Init containers, then main ones.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &'a Container> {
        self.spec
            .init_containers
            .iter()
            .flatten()
            .chain(&self.spec.containers)
    }

    /// One of these, or an ephemeral one.
    pub(crate) fn container(&self, name: &str) -> Result<Cow<'a, Container>, ConfigError> {
        if let Some(container) = self.containers().find(|each| each.name == name) {
            return Ok(Cow::Borrowed(container));
        }
        let ephemeral = self.ephemeral(name);
        // All fields that both kinds have are called and written alike.
        let same = ephemeral.and_then(|each| serde_json::to_value(each).ok());
        let same = same.and_then(|value| serde_json::from_value(value).ok());
        same.map(Cow::Owned)
            .ok_or_else(|| ConfigError::NoContainer(name.to_owned()))
    }

    pub(crate) fn ephemeral(&self, name: &str) -> Option<&'a EphemeralContainer> {
        let mut all = self.spec.ephemeral_containers.iter().flatten();
        all.find(|each| each.name == name)
    }

    /// As the stock kubelet writes it into messages.
    pub(crate) fn place(&self, container: &str) -> String {
        let (name, uid) = (&self.want.name, &self.want.uid);
        let pod = format!("{}_{}({uid})", name.name, name.namespace);
        format!("pod: \"{pod}\", container: {container}")
    }

    pub(crate) fn security(&self) -> Option<&'a PodSecurityContext> {
        self.spec.security_context.as_ref()
    }
}
