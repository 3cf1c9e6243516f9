//! What a pod needs of its node, for admission.

mod features;
mod requests;

use agent_core::{Affinity, HostPort, Needs, Operator, PodSysctls, Requirement, Term, Toleration};
use k8s_openapi::api::core::v1::{
    Container, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSecurityContext, PodSpec,
};

/// Priority from which on a pod belongs to the system (Kubernetes 1.37).
const SYSTEM_PRIORITY: i32 = 2_000_000_000;
/// Annotation that says where a pod is from: `api`, or `file` for a static pod.
const SOURCE: &str = "kubernetes.io/config.source";
/// Annotation of the copy of a static pod at the API server.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// Annotations of old manifests with the AppArmor profile of a container.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// What the pod needs. Total: amounts that are no quantities count as nothing, since the door that read
/// the pod has refused them.
pub(crate) fn needs(pod: &Pod) -> Needs {
    let Some(spec) = &pod.spec else {
        return Needs::default();
    };
    let annotation = |name: &str| pod.metadata.annotations.as_ref()?.get(name);
    let is_static = annotation(SOURCE).is_some_and(|source| source != "api");
    let security = spec.security_context.as_ref();
    Needs {
        requests: requests::of(pod, spec),
        host_ports: host_ports(spec),
        affinity: affinity(spec),
        node_name: spec.node_name.clone().unwrap_or_default(),
        os_label: pod
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get("kubernetes.io/os").cloned()),
        os: spec.os.as_ref().map(|os| os.name.clone()),
        tolerations: tolerations(spec),
        sysctls: sysctls(spec, security),
        strict_groups: security.and_then(|security| security.supplemental_groups_policy.as_deref())
            == Some("Strict"),
        app_armor: is_pending(pod) && wants_app_armor(pod, spec),
        pod_level_resources: requests::are_pod_level(spec),
        features: features::of(spec),
        is_critical: is_static
            || annotation(MIRROR).is_some()
            || spec
                .priority
                .is_some_and(|priority| priority >= SYSTEM_PRIORITY),
        is_static,
    }
}

/// All containers with a restart policy of their own or not, init containers first.
fn containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers
        .iter()
        .flatten()
        .chain(&spec.containers)
}

/// An init container that runs as long as the pod.
fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// Ports of sidecars and main containers; other init containers are over when those begin.
fn host_ports(spec: &PodSpec) -> Vec<HostPort> {
    let sidecars = spec
        .init_containers
        .iter()
        .flatten()
        .filter(|each| is_sidecar(each));
    sidecars
        .chain(&spec.containers)
        .flat_map(|container| container.ports.iter().flatten())
        .filter_map(|port| {
            Some(HostPort {
                address: port.host_ip.clone().unwrap_or_default(),
                protocol: port.protocol.clone().unwrap_or_default(),
                port: port.host_port.filter(|port| *port > 0)?,
            })
        })
        .collect()
}

fn affinity(spec: &PodSpec) -> Affinity {
    let required = spec
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|node| {
            node.required_during_scheduling_ignored_during_execution
                .as_ref()
        });
    Affinity {
        selector: spec.node_selector.clone().unwrap_or_default(),
        terms: required.map(|selector| selector.node_selector_terms.iter().map(term).collect()),
    }
}

fn term(term: &NodeSelectorTerm) -> Term {
    let list = |list: &Option<Vec<NodeSelectorRequirement>>| {
        list.iter().flatten().map(requirement).collect()
    };
    Term {
        labels: list(&term.match_expressions),
        fields: list(&term.match_fields),
    }
}

fn requirement(requirement: &NodeSelectorRequirement) -> Requirement {
    Requirement {
        key: requirement.key.clone(),
        operator: match requirement.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::Gt,
            "Lt" => Operator::Lt,
            _ => Operator::Unknown,
        },
        values: requirement.values.clone().unwrap_or_default(),
    }
}

fn tolerations(spec: &PodSpec) -> Vec<Toleration> {
    let all = spec.tolerations.iter().flatten();
    all.map(|each| Toleration {
        key: each.key.clone().unwrap_or_default(),
        operator: each.operator.clone().unwrap_or_default(),
        value: each.value.clone().unwrap_or_default(),
        effect: each.effect.clone().unwrap_or_default(),
    })
    .collect()
}

fn sysctls(spec: &PodSpec, security: Option<&PodSecurityContext>) -> PodSysctls {
    let all = security.and_then(|security| security.sysctls.as_ref());
    PodSysctls {
        names: all
            .into_iter()
            .flatten()
            .map(|each| each.name.clone())
            .collect(),
        host_network: spec.host_network == Some(true),
        host_ipc: spec.host_ipc == Some(true),
        host_users: spec.host_users != Some(false),
    }
}

/// It has not run yet, as far as its status says.
fn is_pending(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    matches!(phase, None | Some("" | "Pending"))
}

/// Some container has a profile.
fn wants_app_armor(pod: &Pod, spec: &PodSpec) -> bool {
    let of_pod = spec
        .security_context
        .as_ref()
        .and_then(|security| security.app_armor_profile.as_ref());
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    let of_containers = containers(spec)
        .map(|each| &each.security_context)
        .chain(ephemeral.map(|each| &each.security_context))
        .filter_map(|security| security.as_ref()?.app_armor_profile.as_ref());
    let annotated = pod
        .metadata
        .annotations
        .iter()
        .flatten()
        .any(|(name, value)| name.starts_with(APP_ARMOR) && value != "unconfined");
    annotated
        || of_pod
            .into_iter()
            .chain(of_containers)
            .any(|profile| profile.type_ != "Unconfined")
}

#[cfg(test)]
mod tests;
