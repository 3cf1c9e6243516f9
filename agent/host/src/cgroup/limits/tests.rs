#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::time::Duration;

use agent_core::QosClass;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::{Limits, Quota, Rules, of_pod};
use crate::cgroup::requests::class;

const PERIOD: Duration = Duration::from_millis(100);
const RULES: Rules<'_> = Rules {
    quota: true,
    period: PERIOD,
    pids: Some(64),
    page_sizes: &[2 << 20, 1 << 30],
};

fn pod(spec: Value) -> Pod {
    serde_json::from_value(json!({"spec": spec})).unwrap()
}

fn container(requests: Value, limits: Value) -> Value {
    json!({"name": "c", "resources": {"requests": requests, "limits": limits}})
}

/// Shares, quota, memory.
fn figures(limits: &Limits) -> (i64, Option<i64>, Option<u64>) {
    let micros = limits.cpu_quota.and_then(|quota| quota.micros);
    (limits.cpu_shares.unwrap(), micros, limits.memory)
}

#[test]
fn each_class_has_its_limits() {
    let same = json!({"cpu": "500m", "memory": "64Mi"});
    let burstable = [
        container(json!({"cpu": "1"}), json!({"cpu": "2", "memory": "1Gi"})),
        container(json!({"cpu": "250m"}), json!({"memory": "1Gi"})),
    ];
    let table = [
        (
            json!({"containers": [container(json!({}), json!({}))]}),
            QosClass::BestEffort,
            (2, None, None),
        ),
        (
            json!({"containers": [container(same.clone(), same)]}),
            QosClass::Guaranteed,
            (512, Some(50_000), Some(64 << 20)),
        ),
        // One container without a CPU limit: the pod has none either.
        (
            json!({"containers": burstable}),
            QosClass::Burstable,
            (1280, None, Some(2 << 30)),
        ),
    ];
    for (spec, qos, expected) in table {
        let pod = pod(spec);
        assert_eq!(class(&pod), qos);
        let limits = of_pod(&pod, RULES);
        assert_eq!(figures(&limits), expected, "{qos:?}");
        assert_eq!(limits.pids, Some(64));
    }
}

#[test]
fn init_containers_count_by_the_most_that_runs_at_once() {
    let cpu = |name: &str, amount: &str, sidecar: bool| {
        let restart = if sidecar {
            json!("Always")
        } else {
            Value::Null
        };
        let both = json!({"cpu": amount, "memory": "1Mi"});
        json!({"name": name, "restartPolicy": restart, "resources": {"requests": both, "limits": both}})
    };
    // The second init container needs 3 beside the sidecar's 1: more than main and sidecar together.
    let spec = json!({
        "initContainers": [cpu("a", "2", false), cpu("b", "1", true), cpu("c", "3", false)],
        "containers": [cpu("main", "2", false)],
    });
    assert_eq!(of_pod(&pod(spec), RULES).cpu_shares, Some(4096));
    let spec = json!({
        "initContainers": [cpu("b", "1", true)],
        "containers": [cpu("main", "2", false), cpu("more", "1", false)],
    });
    assert_eq!(of_pod(&pod(spec), RULES).cpu_shares, Some(4096));
}

#[test]
fn a_pods_own_resources_take_the_place_of_the_sum() {
    let spec = json!({
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}},
        "containers": [container(json!({"cpu": "4"}), json!({}))],
        "overhead": {"cpu": "250m", "memory": "16Mi"},
    });
    let pod = pod(spec);
    assert_eq!(class(&pod), QosClass::Burstable);
    let memory = (1 << 30) + (16 << 20);
    assert_eq!(
        figures(&of_pod(&pod, RULES)),
        (1280, Some(225_000), Some(memory))
    );
}

#[test]
fn quotas_can_be_off() {
    let both = json!({"cpu": "1", "memory": "1Mi"});
    let pod = pod(json!({"containers": [container(both.clone(), both)]}));
    let limits = of_pod(
        &pod,
        Rules {
            quota: false,
            ..RULES
        },
    );
    // Written as no limit, so that an earlier setting does not stay.
    assert_eq!(
        limits.cpu_quota,
        Some(Quota {
            micros: None,
            period: PERIOD
        })
    );
}

#[test]
fn huge_pages_are_none_unless_asked_for() {
    let asked = json!({"hugepages-2Mi": "8Mi", "hugepages-64Ki": "1Mi", "cpu": "1"});
    let pod = pod(json!({"containers": [container(asked.clone(), asked)]}));
    // 64Ki is no page size of this machine: there is no file for it.
    let expected = BTreeMap::from([(2 << 20, 8 << 20), (1 << 30, 0)]);
    assert_eq!(of_pod(&pod, RULES).hugepages, expected);
}
