//! CPU, memory, cgroups, and what the node keeps for itself.

use std::collections::BTreeMap;

use serde_json::Value;

use super::duration::GoDuration;
use super::field::group;

group! {
    /// cgroups, managers, reservations.
    pub struct Resources {
        /// Class-based cgroup tree.
        cgroups_per_qos: bool = "cgroupsPerQOS" (true),
        /// `cgroupfs` or `systemd`; what the runtime says wins.
        cgroup_driver: String = "cgroupDriver" ("cgroupfs".to_owned(), zero),
        /// cgroup below which everything is made; empty: the root.
        cgroup_root: String = "cgroupRoot" (String::new()),
        /// Refuse to run on cgroup v1.
        fail_cgroup_v1: bool = "failCgroupV1" (true),
        /// cgroup of the agent.
        kubelet_cgroups: String = "kubeletCgroups" (String::new()),
        /// cgroup of everything else.
        system_cgroups: String = "systemCgroups" (String::new()),
        /// The kernel kills one process of a container, not all. Unset: true on v1, false on v2.
        single_process_oom_kill: Option<bool> = "singleProcessOOMKill" (None),
        /// `none` or `static`.
        cpu_manager_policy: String = "cpuManagerPolicy" ("none".to_owned(), zero),
        /// Options of it.
        cpu_manager_policy_options: BTreeMap<String, String> =
            "cpuManagerPolicyOptions" (BTreeMap::new()),
        /// How often pinning is checked.
        cpu_manager_reconcile_period: GoDuration =
            "cpuManagerReconcilePeriod" (GoDuration::seconds(10), zero),
        /// `None` or `Static`.
        memory_manager_policy: String = "memoryManagerPolicy" ("None".to_owned(), zero),
        /// Memory of each NUMA node that is not for pods.
        reserved_memory: Vec<ReservedMemory> = "reservedMemory" (Vec::new()),
        /// `none`, `best-effort`, `restricted` or `single-numa-node`.
        topology_manager_policy: String = "topologyManagerPolicy" ("none".to_owned(), zero),
        /// `container` or `pod`.
        topology_manager_scope: String = "topologyManagerScope" ("container".to_owned(), zero),
        /// Options of it.
        topology_manager_policy_options: BTreeMap<String, String> =
            "topologyManagerPolicyOptions" (BTreeMap::new()),
        /// Percentage of memory kept for guaranteed pods.
        qos_reserved: BTreeMap<String, String> = "qosReserved" (BTreeMap::new()),
        /// CPU limits become quotas.
        cpu_cfs_quota: bool = "cpuCFSQuota" (true),
        /// Period of these quotas, 1 ms to 1 s.
        cpu_cfs_quota_period: GoDuration =
            "cpuCFSQuotaPeriod" (GoDuration::milliseconds(100)),
        /// Share of the memory limit from which a container is slowed down; unset: none.
        memory_throttling_factor: Option<f64> = "memoryThrottlingFactor" (None),
        /// `None` or `TieredReservation`.
        memory_reservation_policy: String = "memoryReservationPolicy" ("None".to_owned(), zero),
        /// Refuse to run with swap on.
        fail_swap_on: bool = "failSwapOn" (true),
        /// Swap for pods.
        memory_swap: MemorySwap = "memorySwap" (MemorySwap::default()),
        /// Kept for the operating system.
        system_reserved: BTreeMap<String, String> = "systemReserved" (BTreeMap::new()),
        /// Kept for the agent and the runtime.
        kube_reserved: BTreeMap<String, String> = "kubeReserved" (BTreeMap::new()),
        /// CPUs that are not for pods.
        reserved_system_cpus: String = "reservedSystemCPUs" (String::new()),
        /// cgroup that `systemReserved` is enforced on.
        system_reserved_cgroup: String = "systemReservedCgroup" (String::new()),
        /// cgroup that `kubeReserved` is enforced on.
        kube_reserved_cgroup: String = "kubeReservedCgroup" (String::new()),
        /// What is enforced.
        enforce_node_allocatable: Vec<String> =
            "enforceNodeAllocatable" (vec!["pods".to_owned()]),
    }
}

group! {
    /// Swap for pods.
    pub struct MemorySwap {
        /// Empty, `NoSwap` or `LimitedSwap`.
        swap_behavior: String = "swapBehavior" (String::new()),
    }
}

group! {
    /// Memory of one NUMA node that is not for pods.
    pub struct ReservedMemory {
        /// Which NUMA node.
        numa_node: i32 = "numaNode" (0),
        /// How much of `memory` and `hugepages-<size>`.
        limits: BTreeMap<String, Value> = "limits" (BTreeMap::new()),
    }
}
