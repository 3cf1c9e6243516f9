//! Why a manifest cannot be turned into a configuration for the runtime.

use agent_core::{Fail, QuantityError};

/// What is wrong, with the field that has to be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("the manifest has no spec")]
    NoSpec,
    #[error("the manifest has no container named {0}")]
    NoContainer(String),
    #[error(
        "host name {fqdn:?} has {} characters, the kernel takes 64: shorten it or leave out \
         spec.setHostnameAsFQDN",
        fqdn.len()
    )]
    LongName { fqdn: String },
    #[error(
        "spec.runtimeClassName {0:?} is not known: runtime classes come from an API server, which \
         this node does not have"
    )]
    RuntimeClass(String),
    #[error(
        "spec.hostUsers: false (user namespaces) is not supported; \
         the pod is not started with more rights than it asks for"
    )]
    UserNamespace,
    #[error("{field} has the value {value:?}, allowed are {allowed}")]
    Value {
        field: &'static str,
        value: String,
        allowed: &'static str,
    },
    #[error("{field} of type Localhost needs a localhostProfile")]
    NoLocalhostProfile { field: &'static str },
    #[error("container {container} has runAsNonRoot and runs as root: set runAsUser")]
    RunsAsRoot { container: String },
    #[error(
        "container {container} has runAsNonRoot and its image has the user {user:?}, which is no \
         number, so it cannot be known not to be root: set runAsUser"
    )]
    UserName { container: String, user: String },
    #[error("resources: {name}: {error}")]
    Quantity { name: String, error: QuantityError },
    #[error("environment variable {variable}: {why}")]
    Variable { variable: String, why: String },
    #[error(
        "envFrom refers to {0}, which comes from an API server, and this node does not have one: \
         write the variables into env"
    )]
    EnvFrom(String),
}

impl ConfigError {
    /// The same when a sandbox was to be made.
    pub(crate) fn fail_sandbox(&self) -> Fail {
        Fail::permanent("ConfigPodSandboxError", self.to_string())
    }

    /// The same when a container was to be made.
    pub(crate) fn fail_container(&self) -> Fail {
        Fail::permanent("CreateContainerConfigError", self.to_string())
    }
}
