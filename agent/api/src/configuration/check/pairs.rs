//! Settings that exclude or bound each other.

use super::numbers::USER_NAMESPACE_UNIT;
use crate::configuration::{GoDuration, Images, KubeletConfiguration};
use crate::problem::Problem;

const ZERO: GoDuration = GoDuration::seconds(0);

/// Whether something is wrong, with which field, and what is allowed.
type Row = (bool, &'static str, &'static str);

pub(super) fn check(c: &KubeletConfiguration) -> Vec<Problem> {
    let shutdown = c.node.shutdown_grace_period;
    let by_priority = !c.node.shutdown_grace_period_by_pod_priority.is_empty();
    let query_alone = c.server.enable_system_log_query && !c.server.enable_system_log_handler;
    let factor = c.resources.memory_throttling_factor.unwrap_or(1.0);
    let others = [
        (
            c.node.shutdown_grace_period_critical_pods > shutdown,
            "shutdownGracePeriodCriticalPods",
            "it must not be above shutdownGracePeriod",
        ),
        (
            by_priority && shutdown > ZERO,
            "shutdownGracePeriodByPodPriority",
            "it cannot be used together with shutdownGracePeriod",
        ),
        (
            c.pods.user_namespaces.ids_per_pod % USER_NAMESPACE_UNIT != 0,
            "userNamespaces.idsPerPod",
            "it must be a multiple of 65536",
        ),
        (
            query_alone,
            "enableSystemLogQuery",
            "it needs enableSystemLogHandler: true",
        ),
        (
            !(factor > 0.0 && factor <= 1.0),
            "memoryThrottlingFactor",
            "it must be above 0 and not above 1",
        ),
        (
            c.pods.run_once,
            "runOnce",
            "Kubernetes has dropped this mode, it must be false",
        ),
    ];
    let wrong = |(wrong, field, message): Row| wrong.then(|| Problem::new(field, message));
    images(&c.images)
        .into_iter()
        .chain(others)
        .filter_map(wrong)
        .collect()
}

fn images(images: &Images) -> [Row; 3] {
    let wide = images
        .max_parallel_image_pulls
        .is_some_and(|pulls| pulls > 1);
    let oldest = images.image_maximum_gc_age;
    [
        (
            images.image_gc_low_threshold_percent >= images.image_gc_high_threshold_percent,
            "imageGCLowThresholdPercent",
            "it must be below imageGCHighThresholdPercent",
        ),
        (
            oldest > ZERO && oldest <= images.image_minimum_gc_age,
            "imageMaximumGCAge",
            "it must be 0s or above imageMinimumGCAge",
        ),
        (
            wide && images.serialize_image_pulls == Some(true),
            "maxParallelImagePulls",
            "above 1 it needs serializeImagePulls: false",
        ),
    ]
}
