//! Ranges of durations.

use crate::configuration::{GoDuration, KubeletConfiguration};
use crate::problem::Problem;

const ZERO: GoDuration = GoDuration::seconds(0);
const MILLISECOND: GoDuration = GoDuration::milliseconds(1);
const SECOND: GoDuration = GoDuration::seconds(1);
const HOUR: GoDuration = GoDuration::seconds(3600);

/// What a duration may be.
enum Allowed {
    Between(GoDuration, GoDuration),
    AtLeast(GoDuration),
    ZeroOrAtLeast(GoDuration),
}

use Allowed::{AtLeast, Between, ZeroOrAtLeast};

pub(super) fn check(c: &KubeletConfiguration) -> Vec<Problem> {
    let (pods, node, images, resources) = (&c.pods, &c.node, &c.images, &c.resources);
    let restarts = pods.crash_loop_back_off.max_container_restart_period;
    let critical = node.shutdown_grace_period_critical_pods;
    let status = node.node_status_update_frequency.unwrap_or(SECOND);
    let logs = c.logs.container_log_monitor_interval;
    let reconcile = resources.cpu_manager_reconcile_period;
    let table = [
        (
            "cpuCFSQuotaPeriod",
            resources.cpu_cfs_quota_period,
            Between(MILLISECOND, SECOND),
        ),
        (
            "crashLoopBackOff.maxContainerRestartPeriod",
            restarts,
            Between(SECOND, GoDuration::seconds(300)),
        ),
        (
            "containerLogMonitorInterval",
            logs,
            AtLeast(GoDuration::seconds(3)),
        ),
        (
            "shutdownGracePeriod",
            node.shutdown_grace_period,
            ZeroOrAtLeast(SECOND),
        ),
        (
            "shutdownGracePeriodCriticalPods",
            critical,
            ZeroOrAtLeast(SECOND),
        ),
        (
            "imageMinimumGCAge",
            images.image_minimum_gc_age,
            AtLeast(ZERO),
        ),
        (
            "imageMaximumGCAge",
            images.image_maximum_gc_age,
            AtLeast(ZERO),
        ),
        // The stock kubelet does not check these: a timer of nothing would spin.
        (
            "fileCheckFrequency",
            pods.file_check_frequency,
            Between(MILLISECOND, HOUR),
        ),
        (
            "httpCheckFrequency",
            pods.http_check_frequency,
            Between(MILLISECOND, HOUR),
        ),
        (
            "syncFrequency",
            pods.sync_frequency,
            Between(MILLISECOND, HOUR),
        ),
        (
            "runtimeRequestTimeout",
            images.runtime_request_timeout,
            AtLeast(SECOND),
        ),
        ("cpuManagerReconcilePeriod", reconcile, AtLeast(MILLISECOND)),
        ("nodeStatusUpdateFrequency", status, AtLeast(MILLISECOND)),
    ];
    table
        .into_iter()
        .filter_map(|(field, value, allowed)| judge(field, value, &allowed))
        .collect()
}

fn judge(field: &str, value: GoDuration, allowed: &Allowed) -> Option<Problem> {
    let (fits, allowed) = match *allowed {
        Between(low, high) => (
            (low..=high).contains(&value),
            format!("between {low} and {high}"),
        ),
        AtLeast(low) => (value >= low, format!("{low} or more")),
        ZeroOrAtLeast(low) => (
            value == ZERO || value >= low,
            format!("0s, or {low} or more"),
        ),
    };
    (!fits).then(|| Problem::new(field, format!("{value} is wrong, it must be {allowed}")))
}
