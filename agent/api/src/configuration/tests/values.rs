//! Wrong values are told all at once, each with the field and what is allowed.

use super::{load_text, problems};

/// A setting, and what is told of it.
const WRONG: &[(&str, &str)] = &[
    (
        "maxPods: many",
        "maxPods: \"many\" is wrong, it must be a whole number below 2147483648",
    ),
    (
        "maxPods: 3000000000",
        "maxPods: 3000000000 is wrong, it must be a whole number below 2147483648",
    ),
    (
        "enableServer: 1",
        "enableServer: 1 is wrong, it must be true or false",
    ),
    (
        "clusterDomain: 5",
        "clusterDomain: 5 is wrong, it must be a text; put it in quotes",
    ),
    (
        "clusterDNS: 10.0.0.1",
        "clusterDNS: \"10.0.0.1\" is wrong, it must be a list",
    ),
    (
        "clusterDNS: [10.0.0.1, 5]",
        "clusterDNS[1]: 5 is wrong, it must be a text; put it in quotes",
    ),
    (
        "syncFrequency: 10",
        "syncFrequency: 10 is wrong, it must be a duration with its unit, for instance 10s",
    ),
    (
        "syncFrequency: 1d",
        "syncFrequency: \"1d\" is no duration; write for instance 10s, 1m30s or 500ms (units ns us ms s m h)",
    ),
    (
        "authentication: [x]",
        "authentication: [\"x\"] is wrong, it must be a mapping of fields",
    ),
    (
        "authentication: {webhook: {cacheTTL: x}}",
        "authentication.webhook.cacheTTL: \"x\" is no duration; write for instance 10s, 1m30s or 500ms (units ns us ms s m h)",
    ),
    (
        "systemReserved: {cpu: 1}",
        "systemReserved.cpu: 1 is wrong, it must be a text; put it in quotes",
    ),
    (
        "kubeReserved: {cpu: one}",
        "kubeReserved.cpu: quantity \"one\" does not begin with a number, write for instance 500m, 2 or 1.5Gi",
    ),
    (
        "kubeReserved: {gpu: '1'}",
        "kubeReserved.gpu: only cpu, memory, ephemeral-storage, pid and hugepages-<size> can be reserved",
    ),
    (
        "cgroupDriver: docker",
        "cgroupDriver: \"docker\" is wrong, it must be one of \"cgroupfs\", \"systemd\"",
    ),
    (
        "cgroupDriver: systemd",
        "cgroupDriver: \"systemd\" needs the systemd driver, which is not in this build; set \"cgroupfs\" here and in the container runtime",
    ),
    (
        "healthzPort: 65536",
        "healthzPort: 65536 is wrong, it must be between 0 and 65535",
    ),
    (
        "oomScoreAdj: -1001",
        "oomScoreAdj: -1001 is wrong, it must be between -1000 and 1000",
    ),
    (
        "containerLogMaxFiles: 1",
        "containerLogMaxFiles: 1 is wrong, it must be 2 or more",
    ),
    (
        "containerLogMonitorInterval: 2s",
        "containerLogMonitorInterval: 2s is wrong, it must be 3s or more",
    ),
    (
        "cpuCFSQuotaPeriod: 2s",
        "cpuCFSQuotaPeriod: 2s is wrong, it must be between 1ms and 1s",
    ),
    (
        "crashLoopBackOff: {maxContainerRestartPeriod: 301s}",
        "crashLoopBackOff.maxContainerRestartPeriod: 5m1s is wrong, it must be between 1s and 5m0s",
    ),
    (
        "shutdownGracePeriod: 10ms",
        "shutdownGracePeriod: 10ms is wrong, it must be 0s, or 1s or more",
    ),
    (
        "imageGCLowThresholdPercent: 85",
        "imageGCLowThresholdPercent: it must be below imageGCHighThresholdPercent",
    ),
    (
        "runOnce: true",
        "runOnce: Kubernetes has dropped this mode, it must be false",
    ),
    (
        "podLogsDir: /var/log/../pods",
        "podLogsDir: \"/var/log/../pods\" is wrong, it must be an absolute path in ASCII without .., doubled or trailing slashes",
    ),
    (
        "podLogsDir: /var/log/pods/",
        "podLogsDir: \"/var/log/pods/\" is wrong, it must be an absolute path in ASCII without .., doubled or trailing slashes",
    ),
    (
        "clusterDNS: [dns]",
        "clusterDNS: \"dns\" is wrong, it must be an IP address",
    ),
    (
        "containerRuntimeEndpoint: tcp://x",
        "containerRuntimeEndpoint: \"tcp://x\" is wrong, it must be a socket such as unix:///run/x.sock",
    ),
    (
        "enforceNodeAllocatable: [pods, none]",
        "enforceNodeAllocatable: \"none\" allows nothing beside it",
    ),
    (
        "enforceNodeAllocatable: [all]",
        "enforceNodeAllocatable: \"all\" is wrong, it must be one of none, pods, system-reserved, system-reserved-compressible, kube-reserved, kube-reserved-compressible",
    ),
    (
        "enforceNodeAllocatable: [kube-reserved]",
        "kubeReservedCgroup: it must name a cgroup, since enforceNodeAllocatable has \"kube-reserved\"",
    ),
    (
        "cgroupsPerQOS: false",
        "cgroupsPerQOS: it must be true, or enforceNodeAllocatable [none]",
    ),
    (
        "cgroupRoot: /a/../b",
        "cgroupRoot: \"/a/../b\" is wrong, it must be a cgroup path without . and ..",
    ),
    (
        "logging: {format: xml}",
        "logging.format: \"xml\" is wrong, it must be one of \"text\", \"json\"",
    ),
    (
        "userNamespaces: {idsPerPod: 70000}",
        "userNamespaces.idsPerPod: it must be a multiple of 65536",
    ),
    (
        "evictionHard: {memory.available: 101%}",
        "evictionHard.memory.available: \"101%\" is wrong, it must be a quantity such as 100Mi or 0% to 100%",
    ),
    (
        "evictionSoft: {pid.available: 5%}",
        "evictionSoft.pid.available: it needs an entry in evictionSoftGracePeriod",
    ),
    (
        "memoryThrottlingFactor: 0",
        "memoryThrottlingFactor: it must be above 0 and not above 1",
    ),
    (
        "registerWithTaints: [3]",
        "registerWithTaints[0]: it is no taint with key, value and effect: invalid type: integer `3`, expected Taint",
    ),
];

#[test]
fn each_wrong_value_names_its_field_and_what_is_allowed() {
    for (text, expected) in WRONG {
        let found = problems(&format!("{text}\n"));
        assert_eq!(found, [*expected], "{text}");
    }
}

#[test]
fn several_wrong_values_are_told_together() {
    let found = problems("maxPods: x\nport: 99999\nhairpinMode: yy\nlogging: {verbosity: z}\n");
    let fields: Vec<&str> = found
        .iter()
        .filter_map(|line| line.split(':').next())
        .collect();
    assert_eq!(
        fields,
        ["maxPods", "logging.verbosity", "port", "hairpinMode"]
    );
}

#[test]
fn unknown_fields_and_settings_without_effect_warn() {
    let text = "syncFrequency: 2m\nmaxPods: 5\nmaxPod: 5\nhairpinMode: none\nfailCgroupV1: false\nregisterNode: false\n\
                logging: {colour: red}\n";
    let warnings = load_text(text).unwrap().warnings;
    assert_eq!(
        warnings,
        [
            "fields that do not exist are ignored: logging.colour, maxPod",
            "fields that are set but have no effect in this version: syncFrequency",
        ]
    );
}
