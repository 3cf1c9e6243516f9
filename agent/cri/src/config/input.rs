//! A pod as the builders read it.

use agent_core::PodWant;
use agent_loops::ports::{PreparedPod, WantedPod};
use k8s_openapi::api::core::v1::{Container, PodSecurityContext, PodSpec};
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
    pub(crate) node: &'a NodeSettings,
}

impl<'a> PodInput<'a> {
    pub(crate) fn new(
        pod: &'a WantedPod,
        prepared: &'a PreparedPod,
        node: &'a NodeSettings,
    ) -> Result<Self, ConfigError> {
        let spec = pod.manifest.spec.as_ref().ok_or(ConfigError::NoSpec)?;
        Ok(Self {
            want: &pod.want,
            metadata: &pod.manifest.metadata,
            spec,
            prepared,
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

    pub(crate) fn container(&self, name: &str) -> Result<&'a Container, ConfigError> {
        self.containers()
            .find(|container| container.name == name)
            .ok_or_else(|| ConfigError::NoContainer(name.to_owned()))
    }

    pub(crate) fn security(&self) -> Option<&'a PodSecurityContext> {
        self.spec.security_context.as_ref()
    }
}
