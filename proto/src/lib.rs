//! Wire definitions of every gRPC interface that gpulet speaks, as Rust types, clients and servers.
//!
//! In: the files under `proto/`, written for this project; names, numbers and types are facts of the
//! interfaces. Out: one module for each interface. The code is made at build time.
//!
//! Invariants: a field that upstream adds, drops or changes fails the tests of this crate. No
//! credential and no environment value is printed by `Debug`. There is no behaviour in here.

mod redact;

/// Declares a module of generated code and the descriptor set that it was made from.
macro_rules! interface {
    ($(#[$doc:meta])* $module:ident, $package:literal) => {
        $(#[$doc])*
        #[allow(missing_docs, clippy::all, clippy::pedantic)]
        pub mod $module {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($module), "/", $package, ".rs"));

            /// The encoded `FileDescriptorSet`.
            pub const DESCRIPTOR_SET: &[u8] =
                include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($module), "/descriptor.bin"));
        }
    };
}

interface!(
    /// Container Runtime Interface v1, complete as of Kubernetes 1.37 (k8s.io/cri-api v0.37.2).
    cri, "runtime.v1"
);
interface!(
    /// Device plugin interface v1beta1 (k8s.io/kubelet v0.37.2).
    deviceplugin, "v1beta1"
);
interface!(
    /// Plugin registration by watched folder, v1 (k8s.io/kubelet v0.37.2).
    pluginregistration, "pluginregistration"
);
interface!(
    /// Pod resources v1 (k8s.io/kubelet v0.37.2).
    podresources, "v1"
);
interface!(
    /// The part of gRPC health checking v1 that probes use.
    grpc_health, "grpc.health.v1"
);
interface!(
    /// gpulet's own interface for `gpuctl`.
    gpulet, "gpulet.v1"
);
