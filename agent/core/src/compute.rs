//! CPU and memory of pods in the kernel's terms: shares, quota, quality-of-service class.
//!
//! The figures are those of the Kubernetes 1.37 kubelet; the pod's cgroup and its containers must
//! agree on them.

use std::time::Duration;

use crate::quantity::Quantity;

/// CPU and memory of one container, or of a pod with resources of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compute {
    /// CPU, in cores.
    pub cpu: Span,
    /// Memory, in bytes.
    pub memory: Span,
}

/// Request and limit of one resource. Zero is the same as not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// What is kept free for it. The API takes the limit where only that is given.
    pub request: Quantity,
    /// What it may use.
    pub limit: Quantity,
}

/// Quality-of-service class of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosClass {
    /// Every container has requests equal to its limits, for both resources.
    Guaranteed,
    /// Anything in between.
    Burstable,
    /// No container asks for anything.
    BestEffort,
}

impl QosClass {
    /// Class of a pod with these containers, init containers included. A pod with resources of its
    /// own is classed by those alone.
    pub fn of(containers: &[Compute]) -> Self {
        let spans: Vec<Span> = containers
            .iter()
            .flat_map(|each| [each.cpu, each.memory])
            .collect();
        if spans
            .iter()
            .all(|span| span.request.is_zero() && span.limit.is_zero())
        {
            Self::BestEffort
        } else if spans
            .iter()
            .all(|span| span.request == span.limit && !span.limit.is_zero())
        {
            Self::Guaranteed
        } else {
            Self::Burstable
        }
    }
}

/// Weight in the cgroup v1 scale: 1024 for one CPU, 2 to 262144.
pub fn cpu_shares(request: Quantity) -> i64 {
    request
        .milli_value()
        .saturating_mul(1024)
        .saturating_div(1000)
        .clamp(2, 262_144)
}

/// CPU time in microseconds that may be used in each `period`; at least 1 ms. `None`: no limit.
pub fn cpu_quota(limit: Quantity, period: Duration) -> Option<i64> {
    if limit.is_zero() {
        return None;
    }
    let period = i64::try_from(period.as_micros()).unwrap_or(i64::MAX);
    Some(
        limit
            .milli_value()
            .saturating_mul(period)
            .saturating_div(1000)
            .max(1000),
    )
}

#[cfg(test)]
mod tests;
