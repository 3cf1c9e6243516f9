use std::time::Duration;

use agent_core::{PullPolicy, RestartPolicy};
use serde_json::json;

use super::from_api;
use crate::pods::testing::pod;

#[test]
fn a_deletion_has_its_own_grace_period() {
    let want = from_api(&pod(
        "a",
        json!({"metadata": {"deletionTimestamp": "1970-01-01T00:01:00Z", "deletionGracePeriodSeconds": 20}}),
    ))
    .unwrap();
    let deletion = want.deletion.unwrap();
    assert_eq!(deletion.grace, Duration::from_secs(20));
    assert!(!want.is_static);
    assert_eq!(want.over, None);
}

#[test]
fn an_end_of_before_is_taken_over() {
    for (phase, well) in [("Succeeded", true), ("Failed", false)] {
        let status = json!({"status": {"phase": phase, "reason": "r", "message": "m"}});
        let over = from_api(&pod("a", status)).unwrap().over.unwrap();
        assert_eq!((over.well, &*over.reason, &*over.message), (well, "r", "m"));
    }
}

#[test]
fn ephemeral_containers_are_containers() {
    let spec = json!({"spec": {"ephemeralContainers": [
        {"name": "debug", "image": "busybox", "imagePullPolicy": "Always", "targetContainerName": "main"},
    ]}});
    let want = from_api(&pod("a", spec)).unwrap();
    let [debug] = want.ephemeral.as_slice() else {
        panic!("{:?}", want.ephemeral)
    };
    assert_eq!(debug.name.as_str(), "debug");
    assert_eq!(debug.pull, PullPolicy::Always);
    assert_eq!(debug.restart, Some(RestartPolicy::Never));
    assert_eq!(debug.hash, crate::container_hash("debug", "busybox"));
}

#[test]
fn style_keeps_no_pod_from_running() {
    // A port that no container has, a policy of another version: the rest of the pod is clear.
    let odd = json!({"spec": {"restartPolicy": "Sometimes", "containers": [{
        "name": "main", "image": "x:1",
        "livenessProbe": {"httpGet": {"port": "nowhere"}},
    }]}});
    let want = from_api(&pod("a", odd)).unwrap();
    assert_eq!(want.containers[0].probes.liveness, None);
}

#[test]
fn what_is_no_pod_is_told() {
    for (change, field) in [
        (json!({"metadata": {"uid": ""}}), "metadata.uid"),
        (json!({"spec": {"containers": []}}), "spec.containers"),
    ] {
        let error = from_api(&pod("a", change)).unwrap_err();
        assert!(error.contains(field), "{error}");
    }
}

#[test]
fn restart_counts_of_containers_that_ran_are_taken_over() {
    let status = json!({"status": {"containerStatuses": [
        {"name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 3, "containerID": "containerd://a"},
        {"name": "new", "image": "", "imageID": "", "ready": false, "restartCount": 0},
    ]}});
    let restarts = from_api(&pod("a", status)).unwrap().restarts;
    let counts: Vec<_> = restarts
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    assert_eq!(counts, [("main", 3)]);
}
