//! What this node can do, for schedulers and admission that ask.

use agent_loops::ports::{RuntimeFacts, RuntimeHandler};
use k8s_openapi::api::core::v1::{NodeFeatures, NodeRuntimeHandler, NodeRuntimeHandlerFeatures};

/// A feature of the registry of Kubernetes 1.37 that a node may declare.
struct Declared {
    name: &'static str,
    /// It is there, from the API down to the container.
    built: bool,
}

/// Pods that need a feature which is not declared are kept away from this node, so that a false word
/// here costs more than a missing one. In alphabetical order, as they are published.
const DECLARED: [Declared; 9] = [
    // Claims for CPU and memory of the node: there are no resource claims here.
    no("DRANodeAllocatableResources"),
    // Drivers whose prepare call may be left out: there are no resource claims here.
    no("DRAOptionalNodeOperations"),
    // Exec and attach over WebSockets without a translation in the API server.
    no("ExtendWebSocketsToKubelet"),
    // Nothing is resized in place.
    no("InPlacePodLevelResourcesVerticalScaling"),
    no("InPlacePodVerticalScalingInitContainers"),
    no("InPlacePodVerticalScalingMemoryBackedVolumes"),
    Declared {
        name: "RestartAllContainersOnContainerExits",
        built: true,
    },
    // Pods have no user namespaces.
    no("UserNamespacesHostNetworkSupport"),
    // Mounts with noexec, nodev, nosuid.
    no("VolumeBindMountOptions"),
];

const fn no(name: &'static str) -> Declared {
    Declared { name, built: false }
}

/// Pods with `hostUsers: false` are refused, whatever the runtime could do.
const USER_NAMESPACES: bool = false;

/// Names of declared features.
pub(crate) fn declared() -> Option<Vec<String>> {
    let built = DECLARED.iter().filter(|feature| feature.built);
    let names: Vec<String> = built.map(|feature| feature.name.to_owned()).collect();
    (!names.is_empty()).then_some(names)
}

/// Handlers of the runtime.
pub(crate) fn handlers(runtime: &RuntimeFacts) -> Option<Vec<NodeRuntimeHandler>> {
    let handlers: Vec<_> = runtime.handlers.iter().map(handler).collect();
    (!handlers.is_empty()).then_some(handlers)
}

fn handler(handler: &RuntimeHandler) -> NodeRuntimeHandler {
    NodeRuntimeHandler {
        name: Some(handler.name.clone()),
        features: Some(NodeRuntimeHandlerFeatures {
            recursive_read_only_mounts: Some(handler.recursive_read_only_mounts),
            user_namespaces: Some(handler.user_namespaces && USER_NAMESPACES),
        }),
    }
}

/// Features of the runtime as a whole.
pub(crate) fn features(runtime: &RuntimeFacts) -> Option<NodeFeatures> {
    runtime
        .supplemental_groups_policy
        .map(|policy| NodeFeatures {
            supplemental_groups_policy: Some(policy),
        })
}
