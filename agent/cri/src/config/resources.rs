//! CPU, memory and huge pages of containers, in the runtime's terms.

use std::collections::BTreeMap;

use agent_core::{Compute, QosClass, Quantity, Span, cpu_quota, cpu_shares};
use k8s_openapi::api::core::v1::{Container, ResourceRequirements};
use proto::cri::{HugepageLimit, LinuxContainerResources};

use super::error::ConfigError;
use super::input::PodInput;
use super::kernel::{Kernel, page_size};
use super::oom::{self, OomInput};
use super::settings::NodeSettings;

/// Limits and weights of one container. Where it names no limit, one of the pod as a whole
/// (`spec.resources`) stands in.
pub(crate) fn resources(
    pod: &PodInput<'_>,
    container: &Container,
    kernel: &Kernel,
) -> Result<LinuxContainerResources, ConfigError> {
    let own = compute(container.resources.as_ref())?;
    let of_pod = compute(pod.spec.resources.as_ref())?;
    let or = |own: Quantity, of_pod: Quantity| if own.is_zero() { of_pod } else { own };
    let cpu_limit = or(own.cpu.limit, of_pod.cpu.limit);
    let memory_limit = or(own.memory.limit, of_pod.memory.limit).value();
    let asked = |key: &str| {
        let requests = container
            .resources
            .as_ref()
            .and_then(|each| each.requests.as_ref());
        requests.is_some_and(|requests| requests.contains_key(key))
    };
    let cpu_request = if asked("cpu") {
        own.cpu.request
    } else {
        cpu_limit
    };
    let node = pod.node;
    let mut resources = LinuxContainerResources {
        oom_score_adj: oom_score(pod, container, own)?,
        hugepage_limits: hugepages(pod, container, kernel)?,
        ..limits(node, cpu_request, cpu_limit, memory_limit)
    };
    match (node.swap_accounting, node.cgroup_v2) {
        (true, true) => drop(
            resources
                .unified
                .insert("memory.swap.max".to_owned(), "0".to_owned()),
        ),
        (true, false) => resources.memory_swap_limit_in_bytes = memory_limit,
        (false, _) => {}
    }
    Ok(resources)
}

/// What container, pod and overhead have in common. No limit is 0.
pub(super) fn limits(
    node: &NodeSettings,
    cpu_request: Quantity,
    cpu_limit: Quantity,
    memory_limit: i64,
) -> LinuxContainerResources {
    let mut resources = LinuxContainerResources {
        cpu_shares: cpu_shares(cpu_request),
        memory_limit_in_bytes: memory_limit,
        ..Default::default()
    };
    if node.cpu_quota {
        let period = node.cpu_quota_period;
        resources.cpu_period = i64::try_from(period.as_micros()).unwrap_or(i64::MAX);
        resources.cpu_quota = cpu_quota(cpu_limit, period).unwrap_or(0);
    }
    if node.cgroup_v2 && !node.single_process_oom_kill {
        resources
            .unified
            .insert("memory.oom.group".to_owned(), "1".to_owned());
    }
    resources
}

/// CPU and memory of a list of requests and limits.
pub(crate) fn compute(resources: Option<&ResourceRequirements>) -> Result<Compute, ConfigError> {
    let span = |name: &str| {
        let limit = quantity(resources.and_then(|each| each.limits.as_ref()), name)?;
        let request = quantity(resources.and_then(|each| each.requests.as_ref()), name)?;
        // As the API server fills it in; a manifest from a file may not have been through it.
        let request = request.or(limit).unwrap_or_default();
        Ok(Span {
            request,
            limit: limit.unwrap_or_default(),
        })
    };
    Ok(Compute {
        cpu: span("cpu")?,
        memory: span("memory")?,
    })
}

type Amounts = BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>;

/// The amount of one resource in a list; `None` when it is not in it.
pub(crate) fn quantity(
    amounts: Option<&Amounts>,
    name: &str,
) -> Result<Option<Quantity>, ConfigError> {
    let text = amounts.and_then(|amounts| amounts.get(name));
    text.map(|text| parse(name, &text.0)).transpose()
}

pub(crate) fn parse(name: &str, text: &str) -> Result<Quantity, ConfigError> {
    text.parse().map_err(|error| ConfigError::Quantity {
        name: name.to_owned(),
        error,
    })
}

fn oom_score(pod: &PodInput<'_>, container: &Container, own: Compute) -> Result<i64, ConfigError> {
    let main = of_each(&pod.spec.containers)?;
    let init_containers = pod.spec.init_containers.as_deref().unwrap_or_default();
    let init = of_each(init_containers)?;
    let of_pod = compute(pod.spec.resources.as_ref())?;
    let of_pod = (of_pod != Compute::default()).then_some(of_pod);
    let class = match of_pod {
        Some(of_pod) => QosClass::of(&[of_pod]),
        None => QosClass::of(&[init.clone(), main.clone()].concat()),
    };
    let sidecars: Vec<bool> = init_containers.iter().map(is_sidecar).collect();
    let sidecar = init_containers
        .iter()
        .any(|each| each.name == container.name && is_sidecar(each));
    Ok(oom::score(&OomInput {
        class,
        node_critical: node_critical(pod),
        request: memory(&own),
        // What the pod asks for beyond its containers counts for each of them alike.
        share: of_pod.map_or(0, |of_pod| {
            let rest = memory(&of_pod).saturating_sub(memory_at_peak(&init, &sidecars, &main));
            let count = i64::try_from(init.len() + main.len()).unwrap_or(i64::MAX);
            rest.max(0) / count.max(1)
        }),
        least_main: sidecar.then(|| main.iter().map(memory).min().unwrap_or(0)),
        capacity: pod.node.memory_capacity,
    }))
}

/// Memory requests of the containers that ever run side by side.
fn memory_at_peak(init: &[Compute], sidecars: &[bool], main: &[Compute]) -> i64 {
    at_peak(init, sidecars, main, |each| each.memory.request).value()
}

/// An amount of the containers that ever run side by side: plain init containers run one at a time
/// beside the sidecars before them, main containers beside all sidecars.
pub(super) fn at_peak(
    init: &[Compute],
    sidecars: &[bool],
    main: &[Compute],
    amount: impl Fn(&Compute) -> Quantity,
) -> Quantity {
    let (mut staying, mut peak) = (Quantity::default(), Quantity::default());
    for (each, sidecar) in init.iter().zip(sidecars) {
        let now = staying.plus(amount(each));
        peak = peak.max(now);
        if *sidecar {
            staying = now;
        }
    }
    main.iter()
        .map(amount)
        .fold(staying, Quantity::plus)
        .max(peak)
}

fn memory(each: &Compute) -> i64 {
    each.memory.request.value()
}

pub(super) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

pub(super) fn of_each(containers: &[Container]) -> Result<Vec<Compute>, ConfigError> {
    containers
        .iter()
        .map(|container| compute(container.resources.as_ref()))
        .collect()
}

/// Static pods of class system-node-critical, and any pod of that class with its priority.
fn node_critical(pod: &PodInput<'_>) -> bool {
    const SYSTEM_CRITICAL: i32 = 2_000_000_000;
    let named = pod.spec.priority_class_name.as_deref() == Some("system-node-critical");
    named
        && (pod.want.is_static
            || pod
                .spec
                .priority
                .is_some_and(|each| each >= SYSTEM_CRITICAL))
}

/// One limit for each page size of the machine: 0 unless the pod or, before it, the container says
/// otherwise.
fn hugepages(
    pod: &PodInput<'_>,
    container: &Container,
    kernel: &Kernel,
) -> Result<Vec<HugepageLimit>, ConfigError> {
    let mut limits: BTreeMap<String, u64> = BTreeMap::new();
    for resources in [pod.spec.resources.as_ref(), container.resources.as_ref()] {
        let amounts = resources.and_then(|each| each.limits.as_ref());
        for (name, amount) in amounts.into_iter().flatten() {
            if let Some(size) = name.strip_prefix("hugepages-") {
                let size = u64::try_from(parse(name, size)?.value()).unwrap_or(0);
                let limit = u64::try_from(parse(name, &amount.0)?.value()).unwrap_or(0);
                limits.insert(page_size(size), limit);
            }
        }
    }
    let limit = |size: &String| HugepageLimit {
        page_size: size.clone(),
        limit: limits.get(size).copied().unwrap_or(0),
    };
    Ok(kernel.huge_page_sizes.iter().map(limit).collect())
}

#[cfg(test)]
mod tests;
