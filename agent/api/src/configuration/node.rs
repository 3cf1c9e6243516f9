//! The Node object, the control plane, and the process itself.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use serde_json::Value;

use super::duration::GoDuration;
use super::field::{Field, Report, group};
use crate::problem::Problem;

group! {
    /// Registration, status, API budget, shutdown, process limits.
    pub struct Node {
        /// Make the Node object.
        register_node: bool = "registerNode" (true),
        /// Taints of a new Node object.
        register_with_taints: Vec<Taint> = "registerWithTaints" (Vec::new()),
        /// Identity of this machine at its provider.
        provider_id: String = "providerID" (String::new()),
        /// How often the node's status is computed. Unset: 10 s.
        node_status_update_frequency: Option<GoDuration> =
            "nodeStatusUpdateFrequency" (None, zero),
        /// How often an unchanged status is written. Unset: the one above if set, else 5 min.
        node_status_report_frequency: Option<GoDuration> =
            "nodeStatusReportFrequency" (None, zero),
        /// Duration of the node's lease.
        node_lease_duration_seconds: i32 = "nodeLeaseDurationSeconds" (40, zero),
        /// Most images in the status; -1: all.
        node_status_max_images: i32 = "nodeStatusMaxImages" (50),
        /// Requests a second to the control plane.
        kube_api_qps: i32 = "kubeAPIQPS" (50),
        /// Requests in a burst.
        kube_api_burst: i32 = "kubeAPIBurst" (100, zero),
        /// Encoding of requests.
        content_type: String =
            "contentType" ("application/vnd.kubernetes.protobuf".to_owned(), zero),
        /// Events a second; 0: no limit.
        event_record_qps: i32 = "eventRecordQPS" (50),
        /// Events in a burst.
        event_burst: i32 = "eventBurst" (100, zero),
        /// Renew the client certificate.
        rotate_certificates: bool = "rotateCertificates" (false),
        /// Time that pods get when the node shuts down.
        shutdown_grace_period: GoDuration = "shutdownGracePeriod" (GoDuration::seconds(0)),
        /// The part of it that is for critical pods.
        shutdown_grace_period_critical_pods: GoDuration =
            "shutdownGracePeriodCriticalPods" (GoDuration::seconds(0)),
        /// The same by priority.
        shutdown_grace_period_by_pod_priority: Vec<ShutdownByPriority> =
            "shutdownGracePeriodByPodPriority" (Vec::new()),
        /// The agent's own score for the kernel's out-of-memory choice, -1000 to 1000.
        oom_score_adj: i32 = "oomScoreAdj" (-999),
        /// Most open files of the agent.
        max_open_files: i64 = "maxOpenFiles" (1_000_000, zero),
        /// Refuse to run when kernel settings differ, instead of changing them.
        protect_kernel_defaults: bool = "protectKernelDefaults" (false),
        /// Feature gates.
        feature_gates: BTreeMap<String, bool> = "featureGates" (BTreeMap::new()),
    }
}

group! {
    /// Time that pods of one priority and above get at shutdown.
    pub struct ShutdownByPriority {
        /// Priority.
        priority: i32 = "priority" (0),
        /// Seconds.
        seconds: i64 = "shutdownGracePeriodSeconds" (0),
    }
}

impl Field for Taint {
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self> {
        serde_json::from_value(value)
            .inspect_err(|error| {
                let message = format!("it is no taint with key, value and effect: {error}");
                report.problems.push(Problem::new(path, message));
            })
            .ok()
    }

    fn show(&self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }
}
