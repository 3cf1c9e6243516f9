//! Which settings change what gpulet does. One that does not, and has been set, is told at start:
//! a silent setting is worse than a missing one.

use super::KubeletConfiguration;

/// Settings that this version acts on.
const ACTED_ON: &[&str] = &[
    "cgroupDriver",
    "cgroupRoot",
    "cgroupsPerQOS",
    "clusterDNS",
    "clusterDomain",
    "containerLogMaxFiles",
    "containerLogMaxSize",
    "containerLogMonitorInterval",
    "containerRuntimeEndpoint",
    "cpuCFSQuota",
    "cpuCFSQuotaPeriod",
    "crashLoopBackOff",
    "enforceNodeAllocatable",
    "failCgroupV1",
    "fileCheckFrequency",
    "healthzBindAddress",
    "healthzPort",
    "kubeReserved",
    "kubeReservedCgroup",
    "logging",
    "maxOpenFiles",
    "maxParallelImagePulls",
    "oomScoreAdj",
    "podLogsDir",
    "podPidsLimit",
    "resolvConf",
    "runtimeRequestTimeout",
    "seccompDefault",
    "serializeImagePulls",
    "singleProcessOOMKill",
    "staticPodPath",
    "systemReserved",
    "systemReservedCgroup",
];

/// Settings that have no effect in the stock kubelet of 1.37 either, so nobody misses them.
const WITHOUT_EFFECT: &[&str] = &[
    "hairpinMode",
    "iptablesDropBit",
    "iptablesMasqueradeBit",
    "streamingConnectionIdleTimeout",
];

/// Settings that were changed from their default without any effect, in alphabetical order.
pub(crate) fn idle(configuration: &KubeletConfiguration) -> Vec<&'static str> {
    let mut idle = configuration.changed();
    idle.retain(|name| !ACTED_ON.contains(name) && !WITHOUT_EFFECT.contains(name));
    idle.sort_unstable();
    idle
}
