//! Builds the runtime's configuration messages from a manifest and what other rooms made ready.
//!
//! Nothing here does I/O. The rules are those of the Kubernetes 1.37 kubelet.

mod container;
mod dns;
mod env;
mod error;
mod field;
mod hostname;
mod input;
mod kernel;
mod namespaces;
mod oom;
mod pod_resources;
mod ports;
mod profile;
mod resources;
mod sandbox;
mod security;
mod settings;
mod stop_signal;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use container::{Answers, container_request, target};
pub(crate) use error::ConfigError;
pub(crate) use kernel::Kernel;
pub(crate) use sandbox::{runtime_handler, sandbox_config, wants_user_namespace};
pub use settings::{Allocatable, NodeSettings};
