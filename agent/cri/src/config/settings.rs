//! Settings of the node that go into sandboxes and containers.

use std::path::PathBuf;
use std::time::Duration;

use agent_core::Quantity;

/// Settings of the node that go into sandboxes and containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// `clusterDNS`. Empty: pods of policy `ClusterFirst` get the node's resolvers.
    pub cluster_dns: Vec<String>,
    /// `clusterDomain`, may be empty.
    pub cluster_domain: String,
    /// Addresses of the node, primary first, for `status.hostIP`.
    pub host_ips: Vec<String>,
    /// `seccompDefault`: containers that name no profile get the runtime's instead of none.
    pub seccomp_default: bool,
    /// Folder of seccomp profiles, `seccomp` below the root directory.
    pub seccomp_root: PathBuf,
    /// `cpuCFSQuota`: CPU limits are enforced.
    pub cpu_quota: bool,
    /// `cpuCFSQuotaPeriod`, 100 ms by default.
    pub cpu_quota_period: Duration,
    /// Memory of the machine in bytes, from which OOM scores are reckoned.
    pub memory_capacity: i64,
    /// What pods may use of the node: stands in for a limit that a container does not have when it
    /// asks for the limit by `resourceFieldRef`.
    pub allocatable: Allocatable,
    /// The machine has the unified cgroup tree only (version 2).
    pub cgroup_v2: bool,
    /// The kernel can account swap to a cgroup. Containers then get none.
    pub swap_accounting: bool,
    /// `singleProcessOOMKill`: the kernel kills the process that ran out of memory, not its container.
    pub single_process_oom_kill: bool,
}

/// What pods may use of the node. Zero means not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocatable {
    /// CPU in cores.
    pub cpu: Quantity,
    /// Memory in bytes.
    pub memory: Quantity,
    /// Local disk in bytes.
    pub ephemeral_storage: Quantity,
}
