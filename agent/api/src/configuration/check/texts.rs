//! Texts with a closed set of values, quantities, addresses and paths.

use std::net::IpAddr;
use std::path::Path;

use agent_core::Quantity;

use crate::configuration::KubeletConfiguration;
use crate::problem::Problem;

pub(super) fn check(configuration: &KubeletConfiguration) -> Vec<Problem> {
    let mut problems = choices(configuration);
    problems.extend(this_build(configuration));
    problems.extend(quantities(configuration));
    problems.extend(addresses(configuration));
    problems.extend(paths(configuration));
    problems
}

/// Fields with a closed set of values.
const CHOICES: &[(&str, Get, &[&str])] = &[
    (
        "cgroupDriver",
        |c| &c.resources.cgroup_driver,
        &["cgroupfs", "systemd"],
    ),
    (
        "cpuManagerPolicy",
        |c| &c.resources.cpu_manager_policy,
        &["none", "static"],
    ),
    (
        "memoryManagerPolicy",
        |c| &c.resources.memory_manager_policy,
        &["None", "Static"],
    ),
    (
        "topologyManagerPolicy",
        |c| &c.resources.topology_manager_policy,
        TOPOLOGY_POLICIES,
    ),
    (
        "topologyManagerScope",
        |c| &c.resources.topology_manager_scope,
        &["container", "pod"],
    ),
    (
        "memoryReservationPolicy",
        |c| &c.resources.memory_reservation_policy,
        RESERVATION_POLICIES,
    ),
    (
        "memorySwap.swapBehavior",
        |c| &c.resources.memory_swap.swap_behavior,
        SWAP_BEHAVIORS,
    ),
    ("hairpinMode", |c| &c.network.hairpin_mode, HAIRPIN_MODES),
    (
        CHANGE_DETECTION,
        |c| &c.pods.change_detection,
        &["Get", "Cache", "Watch"],
    ),
    (
        VERIFICATION,
        |c| &c.images.credentials_verification,
        VERIFICATIONS,
    ),
    (
        "authorization.mode",
        |c| &c.server.authorization.mode,
        &["Webhook", "AlwaysAllow"],
    ),
    (
        "tlsMinVersion",
        |c| &c.server.tls_min_version,
        &["", "VersionTLS12", "VersionTLS13"],
    ),
    (
        "logging.format",
        |c| &c.logs.logging.format,
        &["text", "json"],
    ),
];

type Get = fn(&KubeletConfiguration) -> &str;

const CHANGE_DETECTION: &str = "configMapAndSecretChangeDetectionStrategy";
const VERIFICATION: &str = "imagePullCredentialsVerificationPolicy";
const TOPOLOGY_POLICIES: &[&str] = &["none", "best-effort", "restricted", "single-numa-node"];
const RESERVATION_POLICIES: &[&str] = &["None", "TieredReservation"];
const SWAP_BEHAVIORS: &[&str] = &["", "NoSwap", "LimitedSwap"];
const HAIRPIN_MODES: &[&str] = &["promiscuous-bridge", "hairpin-veth", "none"];
const VERIFICATIONS: &[&str] = &[
    "NeverVerify",
    "NeverVerifyPreloadedImages",
    "NeverVerifyAllowlistedImages",
    "AlwaysVerify",
];

fn choices(c: &KubeletConfiguration) -> Vec<Problem> {
    let wrong = |(field, get, allowed): &(&str, Get, &[&str])| {
        let value = get(c);
        let words: Vec<String> = allowed.iter().map(|word| format!("{word:?}")).collect();
        let message = format!("{value:?} is wrong, it must be one of {}", words.join(", "));
        (!allowed.contains(&value)).then(|| Problem::new(*field, message))
    };
    CHOICES.iter().filter_map(wrong).collect()
}

/// What Kubernetes allows and this build cannot do, where going on would give another cgroup tree
/// than the one asked for.
fn this_build(c: &KubeletConfiguration) -> Option<Problem> {
    (c.resources.cgroup_driver == "systemd").then(|| {
        Problem::new(
            "cgroupDriver",
            "\"systemd\" needs the systemd driver, which is not in this build; set \"cgroupfs\" here \
             and in the container runtime",
        )
    })
}

fn quantities(c: &KubeletConfiguration) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut judge =
        |field: String, text: &str, may_be_negative: bool| match text.parse::<Quantity>() {
            Err(error) => problems.push(Problem::new(field, error.to_string())),
            Ok(quantity) if quantity.is_negative() && !may_be_negative => {
                problems.push(Problem::new(field, format!("{text} is below zero")));
            }
            Ok(_) => {}
        };
    // A negative size means that logs are not rotated.
    judge(
        "containerLogMaxSize".to_owned(),
        &c.logs.container_log_max_size,
        true,
    );
    let reserved = [
        ("systemReserved", &c.resources.system_reserved),
        ("kubeReserved", &c.resources.kube_reserved),
    ];
    for (name, map) in reserved {
        for (resource, text) in map {
            judge(format!("{name}.{resource}"), text, false);
        }
    }
    for (name, map) in [
        ("systemReserved", &c.resources.system_reserved),
        ("kubeReserved", &c.resources.kube_reserved),
    ] {
        let known = |resource: &str| {
            ["cpu", "memory", "ephemeral-storage", "pid"].contains(&resource)
                || resource.starts_with("hugepages-")
        };
        for resource in map.keys().filter(|resource| !known(resource)) {
            let allowed =
                "only cpu, memory, ephemeral-storage, pid and hugepages-<size> can be reserved";
            problems.push(Problem::new(format!("{name}.{resource}"), allowed));
        }
    }
    problems
}

fn addresses(c: &KubeletConfiguration) -> Vec<Problem> {
    let single = [
        ("address", c.server.address.as_str()),
        ("healthzBindAddress", c.server.healthz_bind_address.as_str()),
    ];
    let name_servers = c
        .network
        .cluster_dns
        .iter()
        .map(|address| ("clusterDNS", address.as_str()));
    let wrong = |(field, address): (&str, &str)| {
        let message = format!("{address:?} is wrong, it must be an IP address");
        address
            .parse::<IpAddr>()
            .is_err()
            .then(|| Problem::new(field, message))
    };
    let mut problems: Vec<Problem> = single
        .into_iter()
        .chain(name_servers)
        .filter_map(wrong)
        .collect();
    let endpoints = [
        (
            "containerRuntimeEndpoint",
            c.images.container_runtime_endpoint.as_str(),
        ),
        (
            "imageServiceEndpoint",
            c.images.image_service_endpoint.as_str(),
        ),
    ];
    for (field, endpoint) in endpoints {
        let path = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
        if !endpoint.is_empty() && !path.starts_with('/') {
            let message =
                format!("{endpoint:?} is wrong, it must be a socket such as unix:///run/x.sock");
            problems.push(Problem::new(field, message));
        }
    }
    problems
}

fn paths(c: &KubeletConfiguration) -> Vec<Problem> {
    let mut problems = Vec::new();
    let logs = c.logs.pod_logs_dir.as_str();
    // It is part of metric labels, hence ASCII; "normalized" as in Go's path.Clean.
    let plain = Path::new(logs).components().collect::<std::path::PathBuf>();
    let clean = plain.as_os_str() == logs && !logs.split('/').any(|part| part == "..");
    if !logs.starts_with('/') || !clean || !logs.is_ascii() {
        let message = format!(
            "{logs:?} is wrong, it must be an absolute path in ASCII without .., doubled or trailing slashes"
        );
        problems.push(Problem::new("podLogsDir", message));
    }
    for (field, cgroup) in [
        ("cgroupRoot", &c.resources.cgroup_root),
        ("systemReservedCgroup", &c.resources.system_reserved_cgroup),
        ("kubeReservedCgroup", &c.resources.kube_reserved_cgroup),
    ] {
        if cgroup.split('/').any(|part| part == ".." || part == ".") {
            let message = format!("{cgroup:?} is wrong, it must be a cgroup path without . and ..");
            problems.push(Problem::new(field, message));
        }
    }
    problems
}
