//! All flags as data.

/// One flag.
#[derive(Debug)]
pub(crate) struct Flag {
    /// Name without dashes.
    pub(crate) name: &'static str,
    /// Form of its value.
    pub(crate) kind: Kind,
    /// What it does.
    pub(crate) use_: Use,
    /// One line for `--help`; a flag without it is accepted but not listed.
    pub(crate) help: &'static str,
}

/// Form of a flag's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// True or false; alone it means true.
    Switch,
    /// An integer.
    Number,
    /// Any text, durations and quantities among them.
    Text,
    /// Words separated by commas; the flag may be repeated.
    List,
    /// `key<separator>value` separated by commas.
    Pairs(char),
}

/// What a flag does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Use {
    /// It sets this field of the KubeletConfiguration (dotted path).
    Field(&'static str),
    /// gpulet reads it itself.
    Own,
    /// It is accepted so that existing start scripts go on working, and named in a warning.
    Ignored,
}

use Kind::{List, Number, Pairs, Switch, Text};
use Use::{Field, Ignored, Own};

const fn flag(name: &'static str, kind: Kind, use_: Use, help: &'static str) -> Flag {
    Flag {
        name,
        kind,
        use_,
        help,
    }
}

/// gpulet's own flags.
#[rustfmt::skip] // one flag a line: it is a table
pub(crate) const OWN: &[Flag] = &[
    flag("validate", Switch, Own, "Check configuration and manifests, print what is wrong, start nothing"),
    flag("gpulet-socket", Text, Own, "Unix socket for gpuctl [/run/gpulet/gpulet.sock]"),
    flag("gpulet-socket-group", Text, Own, "Group that may use that socket (mode 0660) [root]"),
    flag("nvidia-driver-root", Text, Own, "Where the NVIDIA driver's files are installed [/]"),
    flag("nvidia-dev-root", Text, Own, "Root of the /dev with the GPU nodes [the driver root]"),
    flag("nvml-library", Text, Own, "libnvidia-ml.so.1 to load [searched for in the driver root]"),
    flag("cdi-dir", Text, Own, "Where CDI documents are written [/var/run/cdi]"),
    flag("pod-device-wait", Number, Own, "Seconds that a pod of the API waits for its devices, 0 to refuse it at once [180]"),
    flag("pod-start-width", Number, Own, "Pods that may be starting at once, 0 for no bound [2 x cores]"),
];

/// The stock kubelet's flags (Kubernetes 1.37).
#[rustfmt::skip] // one flag a line: it is a table
pub(crate) const STOCK: &[Flag] = &[
    flag("config", Text, Own, "KubeletConfiguration file, YAML or JSON"),
    flag("config-dir", Text, Own, "Folder of *.conf files laid over it in lexical order"),
    flag("root-dir", Text, Own, "State of this node [/var/lib/kubelet]"),
    flag("hostname-override", Text, Own, "Name of this node [the host name]"),
    flag("node-ip", Text, Own, "Address of this node"),
    flag("v", Number, Own, "How much is logged: 0-2 info, 3-4 debug, 5 and more trace"),
    flag("address", Text, Field("address"), ""),
    flag("allowed-unsafe-sysctls", List, Field("allowedUnsafeSysctls"), ""),
    flag("anonymous-auth", Switch, Field("authentication.anonymous.enabled"), ""),
    flag("authentication-token-webhook", Switch, Field("authentication.webhook.enabled"), ""),
    flag("authentication-token-webhook-cache-ttl", Text, Field("authentication.webhook.cacheTTL"), ""),
    flag("authorization-mode", Text, Field("authorization.mode"), ""),
    flag("authorization-webhook-cache-authorized-ttl", Text, Field("authorization.webhook.cacheAuthorizedTTL"), ""),
    flag("authorization-webhook-cache-unauthorized-ttl", Text, Field("authorization.webhook.cacheUnauthorizedTTL"), ""),
    flag("bootstrap-kubeconfig", Text, Own, "Kubeconfig to get the first certificate with"),
    flag("cert-dir", Text, Own, "Folder of this node's certificates [/var/lib/kubelet/pki]"),
    flag("cgroup-driver", Text, Field("cgroupDriver"), "cgroupfs or systemd"),
    flag("cgroup-root", Text, Field("cgroupRoot"), "cgroup under which the pods' cgroups are made"),
    flag("cgroups-per-qos", Switch, Field("cgroupsPerQOS"), ""),
    flag("client-ca-file", Text, Field("authentication.x509.clientCAFile"), ""),
    flag("cloud-provider", Text, Own, ""),
    flag("cluster-dns", List, Field("clusterDNS"), "Addresses of the cluster's DNS servers"),
    flag("cluster-domain", Text, Field("clusterDomain"), "DNS domain of the cluster"),
    flag("container-log-max-files", Number, Field("containerLogMaxFiles"), ""),
    flag("container-log-max-size", Text, Field("containerLogMaxSize"), ""),
    flag("container-runtime-endpoint", Text, Field("containerRuntimeEndpoint"), "CRI socket [unix:///run/containerd/containerd.sock]"),
    flag("contention-profiling", Switch, Field("enableContentionProfiling"), ""),
    flag("cpu-cfs-quota", Switch, Field("cpuCFSQuota"), ""),
    flag("cpu-cfs-quota-period", Text, Field("cpuCFSQuotaPeriod"), ""),
    flag("cpu-manager-policy", Text, Field("cpuManagerPolicy"), ""),
    flag("cpu-manager-policy-options", Pairs('='), Field("cpuManagerPolicyOptions"), ""),
    flag("cpu-manager-reconcile-period", Text, Field("cpuManagerReconcilePeriod"), ""),
    flag("enable-controller-attach-detach", Switch, Field("enableControllerAttachDetach"), ""),
    flag("enable-debugging-handlers", Switch, Field("enableDebuggingHandlers"), ""),
    flag("enable-server", Switch, Field("enableServer"), ""),
    flag("enforce-node-allocatable", List, Field("enforceNodeAllocatable"), ""),
    flag("event-burst", Number, Field("eventBurst"), ""),
    flag("event-qps", Number, Field("eventRecordQPS"), ""),
    flag("eviction-hard", Pairs('<'), Field("evictionHard"), ""),
    flag("eviction-max-pod-grace-period", Number, Field("evictionMaxPodGracePeriod"), ""),
    flag("eviction-minimum-reclaim", Pairs('='), Field("evictionMinimumReclaim"), ""),
    flag("eviction-pressure-transition-period", Text, Field("evictionPressureTransitionPeriod"), ""),
    flag("eviction-soft", Pairs('<'), Field("evictionSoft"), ""),
    flag("eviction-soft-grace-period", Pairs('='), Field("evictionSoftGracePeriod"), ""),
    flag("exit-on-lock-contention", Switch, Ignored, ""),
    flag("fail-cgroupv1", Switch, Field("failCgroupV1"), "Refuse to start on cgroup v1 [true]"),
    flag("fail-swap-on", Switch, Field("failSwapOn"), ""),
    flag("feature-gates", Pairs('='), Field("featureGates"), ""),
    flag("file-check-frequency", Text, Field("fileCheckFrequency"), ""),
    flag("hairpin-mode", Text, Field("hairpinMode"), ""),
    flag("healthz-bind-address", Text, Field("healthzBindAddress"), "Address of /healthz [127.0.0.1]"),
    flag("healthz-port", Number, Field("healthzPort"), "Port of /healthz, 0 to switch it off [10248]"),
    flag("http-check-frequency", Text, Field("httpCheckFrequency"), ""),
    flag("image-credential-provider-bin-dir", Text, Own, ""),
    flag("image-credential-provider-config", Text, Own, ""),
    flag("image-gc-high-threshold", Number, Field("imageGCHighThresholdPercent"), ""),
    flag("image-gc-low-threshold", Number, Field("imageGCLowThresholdPercent"), ""),
    flag("image-service-endpoint", Text, Field("imageServiceEndpoint"), ""),
    flag("kernel-memcg-notification", Switch, Field("kernelMemcgNotification"), ""),
    flag("kube-api-burst", Number, Field("kubeAPIBurst"), ""),
    flag("kube-api-content-type", Text, Field("contentType"), ""),
    flag("kube-api-qps", Number, Field("kubeAPIQPS"), ""),
    flag("kube-reserved", Pairs('='), Field("kubeReserved"), ""),
    flag("kube-reserved-cgroup", Text, Field("kubeReservedCgroup"), ""),
    flag("kubeconfig", Text, Own, "Kubeconfig of this node; without it no API server is needed"),
    flag("kubelet-cgroups", Text, Field("kubeletCgroups"), ""),
    flag("local-storage-capacity-isolation", Switch, Field("localStorageCapacityIsolation"), ""),
    flag("lock-file", Text, Ignored, ""),
    flag("log-flush-frequency", Text, Field("logging.flushFrequency"), ""),
    flag("log-json-info-buffer-size", Text, Ignored, ""),
    flag("log-json-split-stream", Switch, Ignored, ""),
    flag("log-text-info-buffer-size", Text, Ignored, ""),
    flag("log-text-split-stream", Switch, Ignored, ""),
    flag("logging-format", Text, Field("logging.format"), "text or json"),
    flag("make-iptables-util-chains", Switch, Field("makeIPTablesUtilChains"), ""),
    flag("manifest-url", Text, Field("staticPodURL"), ""),
    flag("manifest-url-header", Text, Ignored, ""),
    flag("max-open-files", Number, Field("maxOpenFiles"), ""),
    flag("max-pods", Number, Field("maxPods"), ""),
    flag("maximum-dead-containers", Number, Ignored, ""),
    flag("maximum-dead-containers-per-container", Number, Ignored, ""),
    flag("memory-manager-policy", Text, Field("memoryManagerPolicy"), ""),
    flag("minimum-container-ttl-duration", Text, Ignored, ""),
    flag("minimum-image-ttl-duration", Text, Field("imageMinimumGCAge"), ""),
    flag("node-labels", List, Own, "Labels that the node registers with, key=value"),
    flag("node-status-max-images", Number, Field("nodeStatusMaxImages"), ""),
    flag("node-status-update-frequency", Text, Field("nodeStatusUpdateFrequency"), ""),
    flag("oom-score-adj", Number, Field("oomScoreAdj"), ""),
    flag("pod-cidr", Text, Field("podCIDR"), ""),
    flag("pod-infra-container-image", Text, Ignored, ""),
    flag("pod-manifest-path", Text, Field("staticPodPath"), "Folder or file of static pods"),
    flag("pod-max-pids", Number, Field("podPidsLimit"), ""),
    flag("pods-per-core", Number, Field("podsPerCore"), ""),
    flag("port", Number, Field("port"), ""),
    flag("protect-kernel-defaults", Switch, Field("protectKernelDefaults"), ""),
    flag("provider-id", Text, Field("providerID"), ""),
    flag("qos-reserved", Pairs('='), Field("qosReserved"), ""),
    flag("read-only-port", Number, Field("readOnlyPort"), ""),
    flag("register-node", Switch, Field("registerNode"), ""),
    flag("register-with-taints", List, Own, "Taints that the node registers with, key=value:effect"),
    flag("registry-burst", Number, Field("registryBurst"), ""),
    flag("registry-qps", Number, Field("registryPullQPS"), ""),
    flag("reserved-cpus", Text, Field("reservedSystemCPUs"), ""),
    flag("reserved-memory", List, Ignored, ""),
    flag("resolv-conf", Text, Field("resolvConf"), "Resolver configuration for pods [/etc/resolv.conf]"),
    flag("rotate-certificates", Switch, Field("rotateCertificates"), ""),
    flag("rotate-server-certificates", Switch, Field("serverTLSBootstrap"), ""),
    flag("runonce", Switch, Field("runOnce"), ""),
    flag("runtime-cgroups", Text, Ignored, ""),
    flag("runtime-request-timeout", Text, Field("runtimeRequestTimeout"), ""),
    flag("seccomp-default", Switch, Field("seccompDefault"), ""),
    flag("serialize-image-pulls", Switch, Field("serializeImagePulls"), ""),
    flag("streaming-connection-idle-timeout", Text, Field("streamingConnectionIdleTimeout"), ""),
    flag("sync-frequency", Text, Field("syncFrequency"), ""),
    flag("system-cgroups", Text, Field("systemCgroups"), ""),
    flag("system-reserved", Pairs('='), Field("systemReserved"), ""),
    flag("system-reserved-cgroup", Text, Field("systemReservedCgroup"), ""),
    flag("tls-cert-file", Text, Field("tlsCertFile"), ""),
    flag("tls-cipher-suites", List, Field("tlsCipherSuites"), ""),
    flag("tls-min-version", Text, Field("tlsMinVersion"), ""),
    flag("tls-private-key-file", Text, Field("tlsPrivateKeyFile"), ""),
    flag("topology-manager-policy", Text, Field("topologyManagerPolicy"), ""),
    flag("topology-manager-policy-options", Pairs('='), Field("topologyManagerPolicyOptions"), ""),
    flag("topology-manager-scope", Text, Field("topologyManagerScope"), ""),
    flag("vmodule", Text, Ignored, ""),
    flag("volume-plugin-dir", Text, Field("volumePluginDir"), ""),
    flag("volume-stats-agg-period", Text, Field("volumeStatsAggPeriod"), ""),
];
