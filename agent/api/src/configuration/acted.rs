//! Which settings change what gpulet does. One that does not, and has been set, is told at start:
//! a silent setting is worse than a missing one.

use super::KubeletConfiguration;

/// Settings that this version acts on.
const ACTED_ON: &[&str] = &[
    "address",
    "allowedUnsafeSysctls",
    "authentication",
    "authorization",
    "cgroupDriver",
    "cgroupRoot",
    "cgroupsPerQOS",
    "clusterDNS",
    "clusterDomain",
    "configMapAndSecretChangeDetectionStrategy",
    "containerLogMaxFiles",
    "containerLogMaxSize",
    "containerLogMonitorInterval",
    "containerRuntimeEndpoint",
    "cpuCFSQuota",
    "cpuCFSQuotaPeriod",
    "crashLoopBackOff",
    "enableControllerAttachDetach",
    "enableDebuggingHandlers",
    "enableServer",
    "enforceNodeAllocatable",
    "eventBurst",
    "eventRecordQPS",
    "evictionHard",
    "failCgroupV1",
    "fileCheckFrequency",
    "healthzBindAddress",
    "healthzPort",
    "imagePullCredentialsVerificationPolicy",
    "kubeAPIBurst",
    "kubeAPIQPS",
    "kubeReserved",
    "kubeReservedCgroup",
    "localStorageCapacityIsolation",
    "logging",
    "maxOpenFiles",
    "maxParallelImagePulls",
    "maxPods",
    "nodeLeaseDurationSeconds",
    "nodeStatusMaxImages",
    "nodeStatusReportFrequency",
    "nodeStatusUpdateFrequency",
    "oomScoreAdj",
    "podLogsDir",
    "podPidsLimit",
    "podsPerCore",
    "port",
    "preloadedImagesVerificationAllowlist",
    "providerID",
    "registerNode",
    "registerWithTaints",
    "registryBurst",
    "registryPullQPS",
    "resolvConf",
    "rotateCertificates",
    "runtimeRequestTimeout",
    "seccompDefault",
    "serializeImagePulls",
    "serverTLSBootstrap",
    "singleProcessOOMKill",
    "staticPodPath",
    "systemReserved",
    "systemReservedCgroup",
    "tlsCertFile",
    "tlsCipherSuites",
    "tlsCurvePreferences",
    "tlsMinVersion",
    "tlsPrivateKeyFile",
    "userNamespaces",
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
