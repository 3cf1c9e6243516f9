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
mod ports;
mod profile;
mod resources;
mod sandbox;
mod security;
mod settings;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use container::container_request;
pub(crate) use kernel::Kernel;
pub(crate) use sandbox::sandbox_config;
pub use settings::{Allocatable, NodeSettings};
