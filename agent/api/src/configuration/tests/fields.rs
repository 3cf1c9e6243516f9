//! Every field of Kubernetes 1.37 is known, and its default is right.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::configuration::field::Report;
use crate::configuration::{GoDuration, KubeletConfiguration};

use super::load_text;

fn every_field() -> Value {
    crate::document::read(EVERY_FIELD.as_bytes()).unwrap().value
}

/// The 126 fields, each with a value that is not its default.
const EVERY_FIELD: &str = r#"{
    "enableServer": false, "staticPodPath": "/m", "podLogsDir": "/logs", "syncFrequency": "2m",
    "fileCheckFrequency": "1s", "httpCheckFrequency": "1s", "staticPodURL": "http://x",
    "staticPodURLHeader": {"a": ["b"]}, "address": "::1", "port": 1, "readOnlyPort": 2,
    "tlsCertFile": "/c", "tlsPrivateKeyFile": "/k", "tlsCipherSuites": ["TLS_AES_128_GCM_SHA256"],
    "tlsCurvePreferences": [29], "tlsMinVersion": "VersionTLS13", "rotateCertificates": true,
    "serverTLSBootstrap": true, "authentication": {"x509": {"clientCAFile": "/ca"}},
    "authorization": {"mode": "AlwaysAllow"}, "registryPullQPS": 0, "registryBurst": 1,
    "imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages",
    "preloadedImagesVerificationAllowlist": ["a/b"], "eventRecordQPS": 0, "eventBurst": 1,
    "enableDebuggingHandlers": false, "enableContentionProfiling": true, "healthzPort": 0,
    "healthzBindAddress": "::1", "oomScoreAdj": 0, "clusterDomain": "cluster.local",
    "clusterDNS": ["10.0.0.10"], "streamingConnectionIdleTimeout": "1h",
    "nodeStatusUpdateFrequency": "5s", "nodeStatusReportFrequency": "1m",
    "nodeLeaseDurationSeconds": 20, "imageMinimumGCAge": "1m", "imageMaximumGCAge": "1h",
    "imageGCHighThresholdPercent": 90, "imageGCLowThresholdPercent": 70,
    "volumeStatsAggPeriod": "2m", "kubeletCgroups": "/k", "systemCgroups": "/s",
    "cgroupRoot": "/r", "cgroupsPerQOS": false, "cgroupDriver": "systemd",
    "cpuManagerPolicy": "static", "singleProcessOOMKill": true,
    "cpuManagerPolicyOptions": {"full-pcpus-only": "true"}, "cpuManagerReconcilePeriod": "5s",
    "memoryManagerPolicy": "Static", "topologyManagerPolicy": "restricted",
    "topologyManagerScope": "pod", "topologyManagerPolicyOptions": {"a": "b"},
    "qosReserved": {"memory": "50%"}, "runtimeRequestTimeout": "1m", "hairpinMode": "none",
    "maxPods": 10, "podCIDR": "10.1.0.0/16", "podPidsLimit": 1024, "resolvConf": "",
    "runOnce": true, "cpuCFSQuota": false, "cpuCFSQuotaPeriod": "10ms",
    "nodeStatusMaxImages": -1, "maxOpenFiles": 10, "contentType": "application/json",
    "kubeAPIQPS": 0, "kubeAPIBurst": 1, "serializeImagePulls": false,
    "maxParallelImagePulls": 3, "evictionHard": {"memory.available": "1Gi"},
    "evictionSoft": {"memory.available": "2Gi"},
    "evictionSoftGracePeriod": {"memory.available": "30s"},
    "evictionPressureTransitionPeriod": "1m", "evictionMaxPodGracePeriod": 5,
    "evictionMinimumReclaim": {"imagefs.available": "2Gi"},
    "mergeDefaultEvictionSettings": true, "podsPerCore": 5,
    "enableControllerAttachDetach": false, "protectKernelDefaults": true,
    "makeIPTablesUtilChains": false, "iptablesMasqueradeBit": 1, "iptablesDropBit": 2,
    "featureGates": {"A": true}, "failSwapOn": false,
    "memorySwap": {"swapBehavior": "LimitedSwap"}, "containerLogMaxSize": "1Mi",
    "containerLogMaxFiles": 2, "containerLogMaxWorkers": 2,
    "containerLogMonitorInterval": "3s", "configMapAndSecretChangeDetectionStrategy": "Get",
    "systemReserved": {"cpu": "1"}, "kubeReserved": {"memory": "1Gi"},
    "reservedSystemCPUs": "0-1", "showHiddenMetricsForVersion": "1.36",
    "systemReservedCgroup": "/s", "kubeReservedCgroup": "/k",
    "enforceNodeAllocatable": ["none"], "allowedUnsafeSysctls": ["net.*"],
    "defaultPodSysctls": {"net.ipv4.ip_forward": "1"}, "volumePluginDir": "/v",
    "providerID": "p", "kernelMemcgNotification": true, "logging": {"format": "json"},
    "enableSystemLogHandler": false, "enableSystemLogQuery": true, "shutdownGracePeriod": "30s",
    "shutdownGracePeriodCriticalPods": "10s",
    "shutdownGracePeriodByPodPriority": [{"priority": 1, "shutdownGracePeriodSeconds": 2}],
    "crashLoopBackOff": {"maxContainerRestartPeriod": "60s"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    "enableProfilingHandler": false, "enableDebugFlagsHandler": false, "seccompDefault": true,
    "memoryThrottlingFactor": 0.9, "memoryReservationPolicy": "TieredReservation",
    "registerWithTaints": [{"key": "a", "effect": "NoSchedule"}], "registerNode": false,
    "tracing": {"endpoint": "x"}, "localStorageCapacityIsolation": false,
    "containerRuntimeEndpoint": "unix:///x", "imageServiceEndpoint": "unix:///y",
    "failCgroupV1": false, "userNamespaces": {"idsPerPod": 131072}
}"#;

fn take(value: Value) -> (KubeletConfiguration, Report, Map<String, Value>) {
    let Value::Object(mut map) = value else {
        panic!("no mapping")
    };
    let mut report = Report::default();
    let configuration = KubeletConfiguration::take(&mut map, &mut report);
    (configuration, report, map)
}

#[test]
fn every_field_is_read_and_none_is_left_at_its_default() {
    let fields = every_field();
    let mut names: Vec<String> = fields.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names.len(), 126);
    let (configuration, report, left) = take(fields);
    assert_eq!(report.problems, []);
    assert_eq!((report.unknown, left.len()), (Vec::<String>::new(), 0));
    let mut changed = configuration.changed();
    changed.sort_unstable();
    names.sort_unstable();
    assert_eq!(changed, names);
}

/// Reads a configuration that was shown.
fn again(shown: &Value) -> KubeletConfiguration {
    let mut document = shown.clone();
    let map = document.as_object_mut().unwrap();
    let head = ["kind", "apiVersion"].map(|key| map.remove(key).unwrap());
    assert_eq!(
        head,
        ["KubeletConfiguration", "kubelet.config.k8s.io/v1beta1"]
    );
    let (configuration, report, left) = take(document);
    assert_eq!(report.problems, []);
    assert_eq!((report.unknown, left.len()), (Vec::<String>::new(), 0));
    configuration
}

/// What these stand for is shown in their place.
fn with_frequencies(mut configuration: KubeletConfiguration) -> KubeletConfiguration {
    let node = &mut configuration.node;
    let update = node.node_status_update_frequency;
    node.node_status_report_frequency = node.node_status_report_frequency.or(update);
    node.node_status_update_frequency
        .get_or_insert(GoDuration::seconds(10));
    node.node_status_report_frequency
        .get_or_insert(GoDuration::seconds(300));
    configuration
}

proptest! {
    #[test]
    fn what_is_shown_gives_the_same_configuration(
        mask in proptest::collection::vec(any::<bool>(), 126),
        milliseconds in 1..10_000_000_i64,
    ) {
        let Value::Object(mut fields) = every_field() else { panic!("no mapping") };
        let mut mask = mask.into_iter();
        fields.retain(|_, _| mask.next().unwrap());
        let duration = format!("{milliseconds}ms");
        fields.insert("streamingConnectionIdleTimeout".to_owned(), json!(duration));
        let (configuration, ..) = take(Value::Object(fields));
        let shown = configuration.shown();
        prop_assert_eq!(again(&shown), with_frequencies(configuration));
    }
}

#[test]
fn defaults_are_shown_in_the_form_of_go() {
    let shown = KubeletConfiguration::default().shown();
    for (key, value) in [
        ("syncFrequency", json!("1m0s")),
        ("nodeStatusUpdateFrequency", json!("10s")),
        ("nodeStatusReportFrequency", json!("5m0s")),
        ("streamingConnectionIdleTimeout", json!("4h0m0s")),
        ("maxPods", json!(110)),
        ("failSwapOn", json!(true)),
    ] {
        assert_eq!(shown[key], value, "{key}");
    }
    assert_eq!(shown["evictionHard"]["memory.available"], "100Mi");
    assert_eq!(shown["authentication"]["anonymous"]["enabled"], false);
    assert_eq!(shown.get("tracing"), None);
}

#[test]
fn an_empty_file_gives_the_defaults_and_no_warning() {
    let loaded = load_text("").unwrap();
    assert_eq!(loaded.configuration, KubeletConfiguration::default());
    assert_eq!(loaded.warnings, Vec::<String>::new());
    let (with_nulls, ..) = take(json!({"maxPods": null, "authentication": null, "logging": null}));
    assert_eq!(with_nulls, KubeletConfiguration::default());
}

#[test]
fn defaults_are_those_of_kubernetes() {
    let c = KubeletConfiguration::default();
    assert_eq!(c.pods.file_check_frequency, GoDuration::seconds(20));
    assert_eq!((c.pods.max_pods, c.pods.pod_pids_limit), (110, -1));
    assert_eq!(c.server.healthz_bind_address, "127.0.0.1");
    assert_eq!(
        (
            c.server.port,
            c.server.healthz_port,
            c.server.read_only_port
        ),
        (10250, 10248, 0)
    );
    assert!(c.server.authentication.webhook.enabled && !c.server.authentication.anonymous.enabled);
    assert_eq!(
        (c.node.oom_score_adj, c.node.max_open_files),
        (-999, 1_000_000)
    );
    assert_eq!(c.resources.enforce_node_allocatable, ["pods"]);
    assert!(c.resources.fail_cgroup_v1 && c.resources.cgroups_per_qos && c.resources.cpu_cfs_quota);
    assert_eq!(
        c.resources.cpu_cfs_quota_period,
        GoDuration::milliseconds(100)
    );
    assert_eq!(c.logs.pod_logs_dir, "/var/log/pods");
    assert_eq!(
        (
            c.logs.container_log_max_files,
            &*c.logs.container_log_max_size
        ),
        (5, "10Mi")
    );
    assert_eq!(c.network.resolv_conf, "/etc/resolv.conf");
    assert_eq!(
        c.images.container_runtime_endpoint,
        "unix:///run/containerd/containerd.sock"
    );
    assert_eq!(
        c.eviction.eviction_hard.get("memory.available").unwrap(),
        "100Mi"
    );
}

#[test]
fn an_explicit_zero_counts_where_go_has_a_pointer_and_only_there() {
    let (c, ..) = take(json!({
        "port": 0, "maxPods": 0, "syncFrequency": "0s", "podLogsDir": "", "cgroupDriver": "",
        "healthzPort": 0, "registryPullQPS": 0, "resolvConf": "", "containerLogMaxFiles": 0,
        "nodeStatusUpdateFrequency": "0s"
    }));
    assert_eq!((c.server.port, c.pods.max_pods), (10250, 110));
    assert_eq!(c.pods.sync_frequency, GoDuration::seconds(60));
    assert_eq!(
        (&*c.logs.pod_logs_dir, &*c.resources.cgroup_driver),
        ("/var/log/pods", "cgroupfs")
    );
    assert_eq!((c.server.healthz_port, c.images.registry_pull_qps), (0, 0));
    assert_eq!(
        (&*c.network.resolv_conf, c.logs.container_log_max_files),
        ("", 0)
    );
    assert_eq!(c.node.node_status_update_frequency, None);
}

#[test]
fn pulls_are_serial_unless_many_are_allowed() {
    let serial = |json| take(json).0.images.one_pull_at_a_time();
    assert!(serial(json!({})));
    assert!(serial(json!({"maxParallelImagePulls": 1})));
    assert!(!serial(json!({"maxParallelImagePulls": 2})));
    assert!(!serial(json!({"serializeImagePulls": false})));
}
