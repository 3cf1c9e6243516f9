//! What this program calls itself.

/// Kubernetes version whose behaviour it has, with gpulet's own version as build metadata, so that
/// tools that parse a kubelet version go on working.
pub(crate) const VERSION: &str = concat!("v1.37.2+gpulet.", env!("CARGO_PKG_VERSION"));
