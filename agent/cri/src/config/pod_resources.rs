//! CPU and memory of a pod as a whole, for runtimes that size the sandbox by it (virtual machines).

use agent_core::{Quantity, Span};
use proto::cri::LinuxContainerResources;

use super::error::ConfigError;
use super::input::PodInput;
use super::resources::{at_peak, compute, is_sidecar, limits, of_each, quantity};

/// What the pod's containers have together at their peak. What the pod says of itself
/// (`spec.resources`) stands in for it.
pub(crate) fn of_pod(pod: &PodInput<'_>) -> Result<LinuxContainerResources, ConfigError> {
    let init_containers = pod.spec.init_containers.as_deref().unwrap_or_default();
    let (init, main) = (of_each(init_containers)?, of_each(&pod.spec.containers)?);
    let sidecars: Vec<bool> = init_containers.iter().map(is_sidecar).collect();
    let together =
        |amount: fn(&agent_core::Compute) -> Quantity| at_peak(&init, &sidecars, &main, amount);
    let own = compute(pod.spec.resources.as_ref())?;
    let cpu = or(
        own.cpu,
        together(|each| each.cpu.request),
        together(|each| each.cpu.limit),
    );
    let memory = or(
        own.memory,
        together(|each| each.memory.request),
        together(|each| each.memory.limit),
    );
    Ok(limits(
        pod.node,
        cpu.request,
        cpu.limit,
        memory.limit.value(),
    ))
}

/// What the sandbox itself needs beside its containers, by the pod's RuntimeClass.
pub(crate) fn overhead(pod: &PodInput<'_>) -> Result<LinuxContainerResources, ConfigError> {
    let Some(amounts) = pod.spec.overhead.as_ref() else {
        return Ok(LinuxContainerResources::default());
    };
    let amount = |name| Ok(quantity(Some(amounts), name)?.unwrap_or_default());
    let cpu: Quantity = amount("cpu")?;
    Ok(limits(pod.node, cpu, cpu, amount("memory")?.value()))
}

fn or(own: Span, request: Quantity, limit: Quantity) -> Span {
    let given = |own: Quantity, other: Quantity| if own.is_zero() { other } else { own };
    Span {
        request: given(own.request, request),
        limit: given(own.limit, limit),
    }
}

#[cfg(test)]
mod tests;
