//! Limits of a pod's cgroup, as the stock kubelet 1.37 sets them.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_core::{QosClass, Quantity, cpu_quota, cpu_shares};
use k8s_openapi::api::core::v1::Pod;

use super::requests::{class, is_limited, pod_limits, pod_requests};
use super::{Amounts, Limits, Quota, convert};

/// What limits depend on beside the pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'a> {
    /// CPU limits become quotas (`cpuCFSQuota`).
    pub(super) quota: bool,
    /// Period of the quotas (`cpuCFSQuotaPeriod`).
    pub(super) period: Duration,
    /// Most processes in a pod; `None`: no limit (`podPidsLimit`).
    pub(super) pids: Option<u64>,
    /// Page sizes of huge pages that the kernel has, in bytes.
    pub(super) page_sizes: &'a [u64],
}

/// Limits of the pod's cgroup.
pub(super) fn of_pod(pod: &Pod, rules: Rules<'_>) -> Limits {
    let requests = pod_requests(pod);
    let amount = |amounts: &Amounts, name: &str| amounts.get(name).copied().unwrap_or_default();
    let mut limits = Limits {
        cpu_shares: Some(convert::MIN_SHARES),
        pids: rules.pids,
        hugepages: hugepages(&requests, rules.page_sizes),
        ..Limits::default()
    };
    if class(pod) == QosClass::BestEffort {
        return limits;
    }
    limits.cpu_shares = Some(cpu_shares(amount(&requests, "cpu")));
    let most = pod_limits(pod);
    if is_limited(pod, "cpu") {
        let micros = cpu_quota(amount(&most, "cpu"), rules.period).filter(|_| rules.quota);
        limits.cpu_quota = Some(Quota {
            micros,
            period: rules.period,
        });
    }
    if is_limited(pod, "memory") {
        limits.memory = u64::try_from(amount(&most, "memory").value()).ok();
    }
    limits
}

/// Every page size has a limit: the request, or 0 for what was not asked.
fn hugepages(requests: &Amounts, page_sizes: &[u64]) -> BTreeMap<u64, u64> {
    let mut limits: BTreeMap<u64, u64> = page_sizes.iter().map(|size| (*size, 0)).collect();
    let whole = |amount: Quantity| u64::try_from(amount.value()).unwrap_or(0);
    for (name, amount) in requests {
        let size = name
            .strip_prefix("hugepages-")
            .and_then(|size| size.parse::<Quantity>().ok());
        // A size that the machine does not have has no file to write.
        if let Some(limit) = size.and_then(|size| limits.get_mut(&whole(size))) {
            *limit = whole(*amount);
        }
    }
    limits
}

#[cfg(test)]
mod tests;
