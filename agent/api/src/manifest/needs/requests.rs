//! Requests of a whole pod.
//!
//! Main containers and sidecars run together, so they add up. An init container runs beside the
//! sidecars before it, and the pod needs the greatest of all these moments. Then resources of the pod
//! itself outrank the sum, and overhead comes on top (Kubernetes 1.37).

use std::collections::BTreeMap;

use agent_core::{Quantity, ResourceName};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;

use super::is_sidecar;

type Amounts = BTreeMap<ResourceName, Quantity>;

pub(super) fn of(pod: &Pod, spec: &PodSpec) -> Amounts {
    let mut together = Amounts::new();
    for container in &spec.containers {
        add(&mut together, &requested(pod, container));
    }
    let mut sidecars = Amounts::new();
    let mut greatest = Amounts::new();
    for container in spec.init_containers.iter().flatten() {
        let own = requested(pod, container);
        let mut moment = sidecars.clone();
        add(&mut moment, &own);
        if is_sidecar(container) {
            add(&mut together, &own);
            sidecars.clone_from(&moment);
        }
        raise(&mut greatest, &moment);
    }
    raise(&mut together, &greatest);
    let of_pod = spec
        .resources
        .as_ref()
        .and_then(|each| each.requests.as_ref());
    for (name, amount) in of_pod.into_iter().flatten() {
        if is_pod_level(name) {
            together.insert(ResourceName::new(name), parsed(amount));
        }
    }
    let overhead = spec.overhead.iter().flatten();
    let overhead = overhead.map(|(name, amount)| (ResourceName::new(name), parsed(amount)));
    add(&mut together, &overhead.collect());
    together
}

/// Whether the pod has resources of its own.
pub(super) fn are_pod_level(spec: &PodSpec) -> bool {
    let resources = spec.resources.as_ref();
    let lists = resources.map(|each| [each.requests.as_ref(), each.limits.as_ref()]);
    let names = lists
        .into_iter()
        .flatten()
        .flatten()
        .flat_map(BTreeMap::keys);
    names.into_iter().any(|name| is_pod_level(name))
}

/// What one container asks for. A resource that a ResourceClaim provides is not the node's to count.
fn requested(pod: &Pod, container: &Container) -> Amounts {
    let claimed = pod
        .status
        .as_ref()
        .and_then(|status| status.extended_resource_claim_status.as_ref());
    let is_claimed = |name: &str| {
        let mut mappings = claimed.iter().flat_map(|claim| &claim.request_mappings);
        mappings.any(|each| each.container_name == container.name && each.resource_name == name)
    };
    let requests = container
        .resources
        .as_ref()
        .and_then(|resources| resources.requests.as_ref());
    requests
        .into_iter()
        .flatten()
        .filter(|(name, _)| !is_claimed(name))
        .map(|(name, amount)| (ResourceName::new(name), parsed(amount)))
        .collect()
}

fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

fn parsed(amount: &Text) -> Quantity {
    amount.0.parse().unwrap_or_default()
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let total = sum.entry(name.clone()).or_default();
        *total = total.plus(*amount);
    }
}

fn raise(sum: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let most = sum.entry(name.clone()).or_default();
        *most = (*most).max(*amount);
    }
}
