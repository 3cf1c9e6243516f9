//! Where the kinds that scenarios use lie in the API.

use anyhow::{Context, Result};
use serde_json::Value;

/// A kind of object. Scenarios with custom kinds make their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Path of the group and version, as `/apis/apps/v1`.
    pub group: &'static str,
    /// As manifests say it.
    pub kind: &'static str,
    /// As paths say it.
    pub plural: &'static str,
    /// Whether its objects lie in namespaces.
    pub namespaced: bool,
}

macro_rules! kinds {
    ($($name:ident: $group:literal $kind:literal $plural:literal $namespaced:literal,)*) => {
        $(#[doc = concat!("`", $kind, "` of `", $group, "`.")]
        pub const $name: Kind = Kind {
            group: $group, kind: $kind, plural: $plural, namespaced: $namespaced,
        };)*
        const KINDS: &[Kind] = &[$($name),*];
    };
}

kinds! {
    CLUSTER_ROLE: "/apis/rbac.authorization.k8s.io/v1" "ClusterRole" "clusterroles" false,
    CLUSTER_ROLE_BINDING: "/apis/rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "clusterrolebindings" false,
    CLUSTER_TRUST_BUNDLE: "/apis/certificates.k8s.io/v1" "ClusterTrustBundle" "clustertrustbundles" false,
    CONFIG_MAP: "/api/v1" "ConfigMap" "configmaps" true,
    CRON_JOB: "/apis/batch/v1" "CronJob" "cronjobs" true,
    CSR: "/apis/certificates.k8s.io/v1" "CertificateSigningRequest" "certificatesigningrequests" false,
    DAEMON_SET: "/apis/apps/v1" "DaemonSet" "daemonsets" true,
    DEPLOYMENT: "/apis/apps/v1" "Deployment" "deployments" true,
    EVENT: "/api/v1" "Event" "events" true,
    JOB: "/apis/batch/v1" "Job" "jobs" true,
    LEASE: "/apis/coordination.k8s.io/v1" "Lease" "leases" true,
    NAMESPACE: "/api/v1" "Namespace" "namespaces" false,
    NODE: "/api/v1" "Node" "nodes" false,
    PERSISTENT_VOLUME: "/api/v1" "PersistentVolume" "persistentvolumes" false,
    PERSISTENT_VOLUME_CLAIM: "/api/v1" "PersistentVolumeClaim" "persistentvolumeclaims" true,
    POD: "/api/v1" "Pod" "pods" true,
    POD_CERTIFICATE_REQUEST: "/apis/certificates.k8s.io/v1" "PodCertificateRequest" "podcertificaterequests" true,
    PRIORITY_CLASS: "/apis/scheduling.k8s.io/v1" "PriorityClass" "priorityclasses" false,
    REPLICA_SET: "/apis/apps/v1" "ReplicaSet" "replicasets" true,
    RUNTIME_CLASS: "/apis/node.k8s.io/v1" "RuntimeClass" "runtimeclasses" false,
    SECRET: "/api/v1" "Secret" "secrets" true,
    SERVICE: "/api/v1" "Service" "services" true,
    SERVICE_ACCOUNT: "/api/v1" "ServiceAccount" "serviceaccounts" true,
    STATEFUL_SET: "/apis/apps/v1" "StatefulSet" "statefulsets" true,
}

impl Kind {
    /// The kind of a manifest.
    ///
    /// # Errors
    /// When it does not stand in the table above.
    pub fn of(object: &Value) -> Result<Kind> {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let found = KINDS.iter().find(|kind| {
            let group = kind
                .group
                .strip_prefix("/apis/")
                .or(kind.group.strip_prefix("/api/"));
            object["kind"] == kind.kind && group == Some(version)
        });
        found
            .copied()
            .with_context(|| format!("{version} {} is not in the table of kinds", object["kind"]))
    }

    /// Path of the collection over all namespaces.
    pub fn everywhere(self) -> String {
        format!("{}/{}", self.group, self.plural)
    }

    /// Path of the collection that `name` (`name` or `namespace/name`) lies in.
    pub fn folder_of(self, name: &str) -> String {
        let (namespace, _) = split(name);
        if self.namespaced {
            format!("{}/namespaces/{namespace}/{}", self.group, self.plural)
        } else {
            self.everywhere()
        }
    }

    /// Path of the object.
    pub fn path_of(self, name: &str) -> String {
        let (_, own) = split(name);
        format!("{}/{own}", self.folder_of(name))
    }
}

/// Namespace and name.
pub(super) fn split(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or(("default", name))
}
