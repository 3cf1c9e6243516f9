//! How soon the kernel kills a container's processes when memory runs out.

use agent_core::QosClass;

/// What the score depends on; memory in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OomInput {
    pub(crate) class: QosClass,
    /// The pod is of class system-node-critical.
    pub(crate) node_critical: bool,
    /// Memory request of the container.
    pub(crate) request: i64,
    /// Its part of what the pod as a whole asks for.
    pub(crate) share: i64,
    /// Smallest memory request among the main containers, if this is a sidecar.
    pub(crate) least_main: Option<i64>,
    /// Memory of the machine.
    pub(crate) capacity: i64,
}

/// Never so low that the agent itself (-999) goes first.
const LAST: i64 = -997;
const FIRST: i64 = 1000;

/// `oom_score_adj`, as in Kubernetes 1.37: -997 for guaranteed and node-critical pods, 1000 for best
/// effort, else 1000 less the promille of the machine's memory that was asked for, within 3 and 999.
/// A sidecar is never killed before the main container that asks least.
pub(crate) fn score(input: &OomInput) -> i64 {
    match input.class {
        _ if input.node_critical => return LAST,
        QosClass::Guaranteed => return LAST,
        QosClass::BestEffort => return FIRST,
        QosClass::Burstable => {}
    }
    let request = input
        .least_main
        .map_or(input.request, |least| least.max(input.request));
    let asked = request.saturating_add(input.share).saturating_mul(1000);
    (FIRST - asked / input.capacity.max(1)).clamp(FIRST + LAST, FIRST - 1)
}

#[cfg(test)]
mod tests;
