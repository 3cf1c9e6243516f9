//! Settings of the kubepods tree.

use std::time::Duration;

use super::Amounts;

/// Settings of the tree, named as in the kubelet's configuration.
#[derive(Clone, Debug)]
pub struct CgroupSettings {
    /// `cgroupRoot`, empty or `/` for the root. It is made if it is missing.
    pub root: String,
    /// `cgroupsPerQOS`. Without it, pods get no cgroups of their own.
    pub per_qos: bool,
    /// `cpuCFSQuota`.
    pub quota: bool,
    /// `cpuCFSQuotaPeriod`.
    pub quota_period: Duration,
    /// `podPidsLimit`; `None` for -1.
    pub pod_pids: Option<u64>,
    /// `enforceNodeAllocatable`.
    pub enforce: Vec<String>,
    /// `systemReserved`.
    pub system_reserved: Amounts,
    /// `kubeReserved`.
    pub kube_reserved: Amounts,
    /// `systemReservedCgroup`.
    pub system_cgroup: String,
    /// `kubeReservedCgroup`.
    pub kube_cgroup: String,
}

impl Default for CgroupSettings {
    fn default() -> Self {
        Self {
            root: String::new(),
            per_qos: true,
            quota: true,
            quota_period: Duration::from_millis(100),
            pod_pids: None,
            enforce: vec!["pods".to_owned()],
            system_reserved: Amounts::new(),
            kube_reserved: Amounts::new(),
            system_cgroup: String::new(),
            kube_cgroup: String::new(),
        }
    }
}
