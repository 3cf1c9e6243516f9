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
        "failed to construct FQDN from pod hostname and cluster domain, FQDN {fqdn} is too long (64 \
         characters is the max, {} characters requested)",
        fqdn.len()
    )]
    LongName { fqdn: String },
    #[error(
        "spec.runtimeClassName {0:?} is not known: runtime classes come from an API server, which \
         this node does not have"
    )]
    RuntimeClass(String),
    #[error("{}", .0.message)]
    Reference(Fail),
    #[error("can't set `spec.hostUsers: false`, {}", handler(.0))]
    UserNamespaceSupport(String),
    #[error("spec.hostUsers: false, but the host gave the pod no range of IDs")]
    UserNamespaceRange,
    #[error("{field} has the value {value:?}, allowed are {allowed}")]
    Value {
        field: &'static str,
        value: String,
        allowed: &'static str,
    },
    #[error("{field} of type Localhost needs a localhostProfile")]
    NoLocalhostProfile { field: &'static str },
    #[error("container's runAsUser breaks non-root policy ({place})")]
    RunAsRoot { place: String },
    #[error("container has runAsNonRoot and image will run as root ({place})")]
    ImageRunsAsRoot { place: String },
    #[error(
        "container has runAsNonRoot and image has non-numeric user ({user}), cannot verify user is \
         non-root ({place})"
    )]
    UserName { place: String, user: String },
    #[error("resources: {name}: {error}")]
    Quantity { name: String, error: QuantityError },
    #[error("environment variable {variable}: {why}")]
    Variable { variable: String, why: String },
    /// What the environment needs is not there (yet).
    #[error("{0}")]
    Missing(String),
    #[error("Unable to find target container {0}: it has to run before it can be looked into")]
    Target(String),
}

fn handler(name: &str) -> String {
    match name {
        "" => "runtime does not support user namespaces".to_owned(),
        name => format!("RuntimeClass handler {name:?} does not support user namespaces"),
    }
}

impl ConfigError {
    /// The same when a sandbox was to be made.
    pub(crate) fn fail_sandbox(&self) -> Fail {
        self.fail("ConfigPodSandboxError")
    }

    /// The same when a container was to be made.
    pub(crate) fn fail_container(&self) -> Fail {
        self.fail("CreateContainerConfigError")
    }

    /// Objects of the API may come any time; all else needs another manifest or node.
    fn fail(&self, reason: &'static str) -> Fail {
        match self {
            Self::Missing(_) | Self::Reference(_) | Self::Target(_) => {
                Fail::retry(reason, self.to_string())
            }
            _ => Fail::permanent(reason, self.to_string()),
        }
    }
}
