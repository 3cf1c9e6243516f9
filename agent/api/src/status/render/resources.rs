//! What the pod as a whole was given, and its quality-of-service class.

use std::collections::BTreeMap;

use agent_core::{Compute, QosClass, Quantity, Span};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodStatus, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use super::Scene;

type Amounts = BTreeMap<String, Quantity>;

pub(super) fn fill(scene: &Scene<'_>, status: &mut PodStatus) {
    if status.qos_class.is_none() {
        status.qos_class = Some(qos_class(scene.spec).to_owned());
    }
    let own = scene.spec.resources.as_ref();
    let given = |resources: &ResourceRequirements| {
        let is_empty = |map: &Option<BTreeMap<String, ApiQuantity>>| {
            map.as_ref().is_none_or(BTreeMap::is_empty)
        };
        !is_empty(&resources.requests) || !is_empty(&resources.limits)
    };
    let mut requests = sum(scene.spec, |resources| resources.requests.as_ref());
    let mut limits = sum(scene.spec, |resources| resources.limits.as_ref());
    if let Some(own) = own.filter(|own| given(own)) {
        replace(&mut requests, own.requests.as_ref());
        replace(&mut limits, own.limits.as_ref());
    }
    let overhead = parse(scene.spec.overhead.as_ref());
    for (name, amount) in &overhead {
        if let Some(limit) = limits.get_mut(name).filter(|limit| !limit.is_zero()) {
            *limit = limit.plus(*amount);
        }
    }
    add(&mut requests, &overhead);
    let requests = (!requests.is_empty()).then(|| api(&requests));
    status.allocated_resources.clone_from(&requests);
    status.resources = Some(ResourceRequirements {
        claims: own.and_then(|own| own.claims.clone()),
        limits: (!limits.is_empty()).then(|| api(&limits)),
        requests,
    });
}

/// Main containers and sidecars run side by side; beside each init container run the sidecars before
/// it. The pod needs the most of these moments.
fn sum(
    spec: &PodSpec,
    of: impl Fn(&ResourceRequirements) -> Option<&BTreeMap<String, ApiQuantity>>,
) -> Amounts {
    let amounts = |container: &Container| parse(container.resources.as_ref().and_then(&of));
    let (mut sidecars, mut peak) = (Amounts::new(), Amounts::new());
    for container in spec.init_containers.iter().flatten() {
        let mut moment = sidecars.clone();
        add(&mut moment, &amounts(container));
        if container.restart_policy.as_deref() == Some("Always") {
            sidecars.clone_from(&moment);
        }
        raise(&mut peak, &moment);
    }
    let mut main = sidecars;
    for container in &spec.containers {
        add(&mut main, &amounts(container));
    }
    raise(&mut peak, &main);
    peak
}

fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        to.entry(name.clone())
            .and_modify(|sum| *sum = sum.plus(*amount))
            .or_insert(*amount);
    }
}

fn raise(to: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let peak = to.entry(name.clone()).or_insert(*amount);
        *peak = (*peak).max(*amount);
    }
}

/// What the pod says of itself outranks its containers.
fn replace(to: &mut Amounts, own: Option<&BTreeMap<String, ApiQuantity>>) {
    let own = parse(own).into_iter();
    to.extend(
        own.filter(|(name, _)| name == "cpu" || name == "memory" || name.starts_with("hugepages-")),
    );
}

fn parse(map: Option<&BTreeMap<String, ApiQuantity>>) -> Amounts {
    let entries = map.into_iter().flatten();
    entries
        .filter_map(|(name, amount)| Some((name.clone(), amount.0.parse().ok()?)))
        .collect()
}

fn api(amounts: &Amounts) -> BTreeMap<String, ApiQuantity> {
    let entries = amounts.iter();
    entries
        .map(|(name, amount)| (name.clone(), ApiQuantity(amount.to_string())))
        .collect()
}

fn qos_class(spec: &PodSpec) -> &'static str {
    let compute = |resources: Option<&ResourceRequirements>| {
        let requests = parse(resources.and_then(|all| all.requests.as_ref()));
        let limits = parse(resources.and_then(|all| all.limits.as_ref()));
        let span = |name: &str| Span {
            request: requests.get(name).copied().unwrap_or_default(),
            limit: limits.get(name).copied().unwrap_or_default(),
        };
        Compute {
            cpu: span("cpu"),
            memory: span("memory"),
        }
    };
    let all: Vec<Compute> = match &spec.resources {
        Some(own) => vec![compute(Some(own))],
        None => {
            let containers = spec
                .init_containers
                .iter()
                .flatten()
                .chain(&spec.containers);
            containers
                .map(|container| compute(container.resources.as_ref()))
                .collect()
        }
    };
    match QosClass::of(&all) {
        QosClass::Guaranteed => "Guaranteed",
        QosClass::Burstable => "Burstable",
        QosClass::BestEffort => "BestEffort",
    }
}
