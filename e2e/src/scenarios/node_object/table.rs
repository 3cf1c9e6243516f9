//! The fields of Node and Lease in which gpulet may differ from the stock kubelet. Everything else is the same.

use super::fields::Row;
use super::fields::When::{Always, Gpulet, GpuletSomewhere, MadeAgain};

/// Of the Node.
pub(super) const NODE_ROWS: &[Row] = &[
    ("metadata.resourceVersion", Always, "a number of the store"),
    (
        "metadata.managedFields*",
        Always,
        "who wrote which field when",
    ),
    ("metadata.uid", MadeAgain, "another object"),
    ("metadata.creationTimestamp", MadeAgain, "another object"),
    (
        "status.conditions[*].lastHeartbeatTime",
        Always,
        "the time of the last report",
    ),
    (
        "status.conditions[*].lastTransitionTime",
        MadeAgain,
        "another object",
    ),
    (
        "status.conditions[Ready].lastTransitionTime",
        Always,
        "a restart may be seen as a change of Ready",
    ),
    (
        "status.runtimeHandlers[*].features.userNamespaces",
        GpuletSomewhere,
        "pods have no user namespaces, whatever the runtime could do",
    ),
    (
        "status.nodeInfo.kubeletVersion",
        Gpulet,
        "it says whose it is",
    ),
    (
        "status.declaredFeatures*",
        Gpulet,
        "none of these features is built",
    ),
    (
        "status.*.nvidia.com/gpu",
        Gpulet,
        "a stock node needs a device plugin for it",
    ),
];

/// Of the Lease.
pub(super) const LEASE_ROWS: &[Row] = &[
    ("metadata.resourceVersion", Always, "a number of the store"),
    (
        "metadata.managedFields*",
        Always,
        "who wrote which field when",
    ),
    ("metadata.uid", MadeAgain, "another object"),
    ("metadata.creationTimestamp", MadeAgain, "another object"),
    (
        "metadata.ownerReferences[*].uid",
        MadeAgain,
        "the Node that was made again",
    ),
    ("spec.renewTime", Always, "the heartbeat"),
    (
        "metadata.annotations.gpulet/lease-holder",
        Gpulet,
        "how two machines with one node name find each other",
    ),
];
