//! Admission: whether a pod that was bound to this node may run here.
//!
//! Checks, order, reasons and texts are those of the Kubernetes 1.37 kubelet: sysctls, operating system,
//! supplemental groups, resources, node affinity, node name, host ports, taints, AppArmor, pod-level
//! resources, declared features. Two of its checks are not here because they are no facts of pod and
//! node alone: pressure on the node (eviction) and shutdown. Devices are given out elsewhere; the
//! stock kubelet does that between sysctls and the rest.
//!
//! A difference: a critical pod that does not fit is refused like any other; the stock kubelet
//! first tries to stop less important pods.

mod affinity;
mod ports;
mod resources;
mod sysctls;
mod taints;

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::ResourceName;
use crate::quantity::Quantity;

pub use affinity::{Affinity, Operator, Requirement, Term};
pub use ports::HostPort;
pub use sysctls::PodSysctls;
pub use taints::{Taint, Toleration};

/// What one pod needs of its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Requests of the whole pod, init containers, sidecars and overhead counted as the scheduler does.
    pub requests: BTreeMap<ResourceName, Quantity>,
    /// Ports of the host that its containers and sidecars take.
    pub host_ports: Vec<HostPort>,
    /// Where it may run.
    pub affinity: Affinity,
    /// `spec.nodeName`, empty if it has none.
    pub node_name: String,
    /// The label `kubernetes.io/os` of the pod itself.
    pub os_label: Option<String>,
    /// `spec.os.name`.
    pub os: Option<String>,
    /// Taints that it stands.
    pub tolerations: Vec<Toleration>,
    /// Kernel parameters that it sets.
    pub sysctls: PodSysctls,
    /// It asks for supplemental groups to be taken from the manifest alone (`Strict`).
    pub strict_groups: bool,
    /// It needs a host with AppArmor, and has not been running before.
    pub app_armor: bool,
    /// It has resources of its own, beside those of its containers.
    pub pod_level_resources: bool,
    /// Features that a node has to declare before such a pod may run on it.
    pub features: BTreeSet<String>,
    /// It is from a file of this node or has a priority of the system: see the module's difference.
    pub is_critical: bool,
    /// It is from a file of this node: no scheduler chose it, so taints do not count.
    pub is_static: bool,
}

/// What this node offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeOffer {
    /// Name of the node.
    pub name: String,
    /// Labels of the Node object.
    pub labels: BTreeMap<String, String>,
    /// Taints of the Node object.
    pub taints: Vec<Taint>,
    /// Allocatable amounts, `pods` among them. A resource that is missing is none of this node.
    pub allocatable: BTreeMap<ResourceName, Quantity>,
    /// `allowedUnsafeSysctls`: names, or beginnings of names with `*` at the end.
    pub unsafe_sysctls: Vec<String>,
    /// Major and minor version of the kernel; `None`: not known.
    pub kernel: Option<(u32, u32)>,
    /// The runtime can take supplemental groups from the manifest alone.
    pub strict_groups: bool,
    /// AppArmor is on.
    pub app_armor: bool,
    /// Feature gate `PodLevelResources`.
    pub pod_level_resources: bool,
    /// Features that the Node object declares.
    pub features: BTreeSet<String>,
}

/// Why a pod may not run here. It fails for good with this: the stock kubelet does not try again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// `status.reason`, for instance `OutOfcpu`.
    pub reason: String,
    /// What is wrong, without the words that `status_message` puts before it.
    pub message: String,
    /// It is only that the labels do not match: worth a look at the newest Node object before the pod
    /// is refused.
    pub only_affinity: bool,
}

/// The operating system in Kubernetes' words.
const OS: &str = "linux";
/// Label of nodes and pods with the operating system.
const OS_LABEL: &str = "kubernetes.io/os";

impl Rejection {
    fn new(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            message: message.into(),
            only_affinity: false,
        }
    }

    fn predicate(name: &str, text: &str) -> Self {
        Self::new(name, format!("Predicate {name} failed: {text}"))
    }

    /// For a node whose object has not been seen yet.
    pub fn no_node() -> Self {
        Self::new("InvalidNodeInfo", "Kubelet cannot get node info.")
    }

    /// `status.message` of the refused pod.
    pub fn status_message(&self) -> String {
        format!("Pod was rejected: {}", self.message)
    }
}

/// Whether the pod may run beside `others`: the pods that were admitted and have not ended, without the
/// pod itself. The first reason counts.
pub fn admit<'a>(
    needs: &Needs,
    others: impl IntoIterator<Item = &'a Needs>,
    offer: &NodeOffer,
) -> Result<(), Rejection> {
    sysctls::check(&needs.sysctls, &offer.unsafe_sysctls, offer.kernel)?;
    operating_system(needs)?;
    if needs.strict_groups && !offer.strict_groups {
        return Err(Rejection::new(
            "SupplementalGroupsPolicyNotSupported",
            "SupplementalGroupsPolicy=Strict is not supported in this node",
        ));
    }
    fits(needs, others, offer)?;
    if needs.app_armor && !offer.app_armor {
        return Err(Rejection::new(
            "AppArmor",
            "Cannot enforce AppArmor: AppArmor is not enabled on the host",
        ));
    }
    if needs.pod_level_resources && !offer.pod_level_resources {
        return Err(Rejection::new(
            "PodLevelResourcesNotSupported",
            "PodLevelResources feature gate is disabled",
        ));
    }
    let missing: Vec<&str> = needs
        .features
        .difference(&offer.features)
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        return Err(Rejection::new(
            "PodFeatureUnsupported",
            format!(
                "Pod requires node features that are not available: {}",
                missing.join(", ")
            ),
        ));
    }
    Ok(())
}

fn operating_system(needs: &Needs) -> Result<(), Rejection> {
    if needs.os_label.as_ref().is_some_and(|os| os != OS) {
        return Err(Rejection::new(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        ));
    }
    if needs.os.as_ref().is_some_and(|os| os != OS) {
        return Err(Rejection::new(
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS",
        ));
    }
    Ok(())
}

/// The scheduler's checks, once more. Of all that do not pass the first one is told; for a critical pod
/// the first one that freeing resources would not mend.
fn fits<'a>(
    needs: &Needs,
    others: impl IntoIterator<Item = &'a Needs>,
    offer: &NodeOffer,
) -> Result<(), Rejection> {
    let others: Vec<&Needs> = others.into_iter().collect();
    let lacking = resources::lacking(needs, &others, offer);
    let mut place = Vec::new();
    if !needs.affinity.matches(&labels(offer), &offer.name) {
        place.push(Rejection::predicate(
            "NodeAffinity",
            "node(s) didn't match Pod's node affinity/selector",
        ));
    }
    if !needs.node_name.is_empty() && needs.node_name != offer.name {
        place.push(Rejection::predicate(
            "NodeName",
            "node(s) didn't match the requested node name",
        ));
    }
    let taken = others.iter().flat_map(|other| &other.host_ports);
    if ports::conflict(&needs.host_ports, taken) {
        place.push(Rejection::predicate(
            "NodePorts",
            "node(s) didn't have free ports for the requested pod ports",
        ));
    }
    if !needs.is_static && !taints::tolerated(&offer.taints, &needs.tolerations) {
        place.push(Rejection::predicate(
            "TaintToleration",
            "node(s) had taints that the pod didn't tolerate",
        ));
    }
    let only_affinity =
        lacking.is_empty() && place.len() == 1 && place.iter().any(|r| r.reason == "NodeAffinity");
    let first = if needs.is_critical {
        place.into_iter().chain(lacking).next()
    } else {
        lacking.into_iter().chain(place).next()
    };
    match first {
        None => Ok(()),
        Some(rejection) => Err(Rejection {
            only_affinity,
            ..rejection
        }),
    }
}

/// Labels of the node; the operating system is what it is, whatever the object says.
fn labels(offer: &NodeOffer) -> BTreeMap<&str, &str> {
    let mut labels: BTreeMap<&str, &str> = offer
        .labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    labels.insert(OS_LABEL, OS);
    labels
}

#[cfg(test)]
mod tests;
