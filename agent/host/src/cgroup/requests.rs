//! What a pod asks for as a whole, and its quality-of-service class.

use std::collections::BTreeMap;

use agent_core::{Compute, QosClass, Quantity, Span};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements};

use super::Amounts;

type Written = BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>;

/// Which amounts of a container count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// A limit without a request is also the request.
    Requests,
    Limits,
}

/// The pod's requests: main containers and sidecars together, or the most that an init container
/// needs together with the sidecars before it, whichever is larger; then the overhead. An amount for
/// the pod as a whole takes the place of the sum (KEP-753, KEP-2837).
pub(crate) fn pod_requests(pod: &Pod) -> Amounts {
    let Some(spec) = &pod.spec else {
        return Amounts::new();
    };
    let mut sum = total(spec, Side::Requests);
    add(&mut sum, &parsed(spec.overhead.as_ref()));
    sum
}

/// The pod's limits, by the same rules; the overhead counts only where there is a limit.
pub(crate) fn pod_limits(pod: &Pod) -> Amounts {
    let Some(spec) = &pod.spec else {
        return Amounts::new();
    };
    let mut sum = total(spec, Side::Limits);
    for (name, amount) in parsed(spec.overhead.as_ref()) {
        if let Some(entry) = sum.get_mut(&name).filter(|entry| !entry.is_zero()) {
            *entry = entry.plus(amount);
        }
    }
    sum
}

/// The pod's class: that of its own resources if it has any, else that of its containers.
pub(crate) fn class(pod: &Pod) -> QosClass {
    let Some(spec) = &pod.spec else {
        return QosClass::BestEffort;
    };
    let own = compute(spec.resources.as_ref());
    if own != Compute::default() {
        return QosClass::of(&[own]);
    }
    let of_containers: Vec<Compute> = containers(spec)
        .map(|container| compute(container.resources.as_ref()))
        .collect();
    QosClass::of(&of_containers)
}

/// Whether a limit of the pod's cgroup would limit anything: the pod or every container has one. If
/// only some have, the others may use what the node has.
pub(super) fn is_limited(pod: &Pod, name: &str) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let has = |resources: Option<&ResourceRequirements>| {
        let limit = amounts(resources, Side::Limits).get(name).copied();
        limit.is_some_and(|limit| !limit.is_zero())
    };
    has(spec.resources.as_ref()) || containers(spec).all(|each| has(each.resources.as_ref()))
}

/// Init containers, then main ones.
fn containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers
        .iter()
        .flatten()
        .chain(&spec.containers)
}

fn compute(resources: Option<&ResourceRequirements>) -> Compute {
    let (requests, limits) = (
        amounts(resources, Side::Requests),
        amounts(resources, Side::Limits),
    );
    let span = |name: &str| Span {
        request: requests.get(name).copied().unwrap_or_default(),
        limit: limits.get(name).copied().unwrap_or_default(),
    };
    Compute {
        cpu: span("cpu"),
        memory: span("memory"),
    }
}

fn total(spec: &PodSpec, side: Side) -> Amounts {
    let of = |container: &Container| amounts(container.resources.as_ref(), side);
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for container in spec.init_containers.iter().flatten() {
        let mut needed = sidecars.clone();
        add(&mut needed, &of(container));
        if container.restart_policy.as_deref() == Some("Always") {
            sidecars.clone_from(&needed);
        }
        raise(&mut starting, needed);
    }
    let mut running = sidecars;
    for container in &spec.containers {
        add(&mut running, &of(container));
    }
    raise(&mut running, starting);
    let mut of_pod = amounts(spec.resources.as_ref(), side);
    of_pod.retain(|name, _| matches!(name.as_str(), "cpu" | "memory") || is_hugepages(name));
    running.extend(of_pod);
    running
}

fn is_hugepages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn add(sum: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let entry = sum.entry(name.clone()).or_default();
        *entry = entry.plus(*amount);
    }
}

fn raise(most: &mut Amounts, other: Amounts) {
    for (name, amount) in other {
        let entry = most.entry(name).or_default();
        *entry = (*entry).max(amount);
    }
}

fn amounts(resources: Option<&ResourceRequirements>, side: Side) -> Amounts {
    let mut amounts = parsed(resources.and_then(|each| each.limits.as_ref()));
    if side == Side::Requests {
        amounts.extend(parsed(resources.and_then(|each| each.requests.as_ref())));
    }
    amounts
}

/// Amounts were checked when the manifest was read; one that is none counts as not given.
fn parsed(written: Option<&Written>) -> Amounts {
    let amount = |(name, amount): (&String, &_)| {
        let amount: &k8s_openapi::apimachinery::pkg::api::resource::Quantity = amount;
        Some((name.clone(), amount.0.parse::<Quantity>().ok()?))
    };
    written.into_iter().flatten().filter_map(amount).collect()
}
