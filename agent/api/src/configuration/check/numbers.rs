//! Ranges of numbers.

use crate::configuration::{Images, KubeletConfiguration, Node};
use crate::problem::Problem;

/// What a user namespace is a multiple of.
pub(super) const USER_NAMESPACE_UNIT: i64 = 65536;

/// One field: its value, the lowest and the highest one allowed.
struct Row(&'static str, i64, i64, i64);

fn between(field: &'static str, value: impl Into<i64>, low: i64, high: i64) -> Row {
    Row(field, value.into(), low, high)
}

fn at_least(field: &'static str, value: impl Into<i64>, low: i64) -> Row {
    Row(field, value.into(), low, i64::MAX)
}

pub(super) fn check(c: &KubeletConfiguration) -> Vec<Problem> {
    let others = [
        at_least("maxPods", c.pods.max_pods, 0),
        at_least("podsPerCore", c.pods.pods_per_core, 0),
        between("healthzPort", c.server.healthz_port, 0, 65535),
        between("port", c.server.port, 1, 65535),
        between("readOnlyPort", c.server.read_only_port, 0, 65535),
        between("iptablesDropBit", c.network.iptables_drop_bit, 0, 31),
        between(
            "iptablesMasqueradeBit",
            c.network.iptables_masquerade_bit,
            0,
            31,
        ),
        at_least("containerLogMaxFiles", c.logs.container_log_max_files, 2),
        at_least(
            "containerLogMaxWorkers",
            c.logs.container_log_max_workers,
            1,
        ),
        at_least("logging.verbosity", c.logs.logging.verbosity, 0),
        between(
            "userNamespaces.idsPerPod",
            c.pods.user_namespaces.ids_per_pod,
            USER_NAMESPACE_UNIT,
            u32::MAX.into(),
        ),
    ];
    node(&c.node)
        .into_iter()
        .chain(images(&c.images))
        .chain(others)
        .filter_map(judge)
        .collect()
}

fn node(node: &Node) -> [Row; 8] {
    [
        at_least(
            "nodeLeaseDurationSeconds",
            node.node_lease_duration_seconds,
            1,
        ),
        at_least("eventBurst", node.event_burst, 0),
        at_least("eventRecordQPS", node.event_record_qps, 0),
        at_least("kubeAPIBurst", node.kube_api_burst, 0),
        at_least("kubeAPIQPS", node.kube_api_qps, 0),
        at_least("nodeStatusMaxImages", node.node_status_max_images, -1),
        at_least("maxOpenFiles", node.max_open_files, 0),
        between("oomScoreAdj", node.oom_score_adj, -1000, 1000),
    ]
}

fn images(images: &Images) -> [Row; 5] {
    [
        at_least("registryBurst", images.registry_burst, 0),
        at_least("registryPullQPS", images.registry_pull_qps, 0),
        at_least(
            "maxParallelImagePulls",
            images.max_parallel_image_pulls.unwrap_or(1),
            1,
        ),
        between(
            "imageGCHighThresholdPercent",
            images.image_gc_high_threshold_percent,
            0,
            100,
        ),
        between(
            "imageGCLowThresholdPercent",
            images.image_gc_low_threshold_percent,
            0,
            100,
        ),
    ]
}

fn judge(Row(field, value, low, high): Row) -> Option<Problem> {
    if (low..=high).contains(&value) {
        return None;
    }
    let allowed = match high {
        i64::MAX => format!("{low} or more"),
        _ => format!("between {low} and {high}"),
    };
    Some(Problem::new(
        field,
        format!("{value} is wrong, it must be {allowed}"),
    ))
}
