use std::sync::Arc;

use agent_core::Time;
use agent_loops::ports::SourceSnapshot;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::Known;
use crate::pods::testing::pod;

fn versioned(version: u32, rest: Value) -> Pod {
    let mut pod = pod("a", rest);
    pod.metadata.resource_version = Some(version.to_string());
    pod
}

fn listed(pods: Vec<Pod>) -> (Known, SourceSnapshot) {
    let mut known = Known::default();
    known.take(Event::Init);
    for pod in pods {
        known.take(Event::InitApply(pod));
    }
    assert!(known.snapshot().is_none(), "half a list is nothing");
    known.take(Event::InitDone);
    let snapshot = known.snapshot().unwrap();
    (known, snapshot)
}

#[test]
fn only_what_the_loops_read_is_news() {
    let (mut known, first) = listed(vec![versioned(1, json!({}))]);
    let first = &first.pods[0];
    // What it is, whether the loops are told, whether they get another wanted pod, another manifest.
    for (version, change, told, want, manifest) in [
        (
            2,
            json!({"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}),
            false,
            false,
            false,
        ),
        (
            3,
            json!({"metadata": {"managedFields": [{"manager": "x"}]}}),
            false,
            false,
            false,
        ),
        (
            4,
            json!({"metadata": {"labels": {"a": "b"}}}),
            true,
            false,
            true,
        ),
        (
            5,
            json!({"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Pending"}}),
            false,
            false,
            true,
        ),
        (
            6,
            json!({"spec": {"containers": [{"name": "main", "image": "x:2"}]}}),
            true,
            true,
            true,
        ),
    ] {
        known.take(Event::Apply(versioned(version, change.clone())));
        assert!(
            known.objects().is_some(),
            "{change}: who writes statuses hears of all"
        );
        let snapshot = known.snapshot();
        assert_eq!(snapshot.is_some(), told, "{change}");
        if let Some(snapshot) = snapshot {
            let pod = &snapshot.pods[0];
            assert_eq!(!Arc::ptr_eq(&pod.want, &first.want), want, "{change}");
            assert_eq!(
                !Arc::ptr_eq(&pod.manifest, &first.manifest),
                manifest,
                "{change}"
            );
            assert!(pod.manifest.metadata.managed_fields.is_none());
        }
    }
    known.take(Event::Apply(versioned(6, json!({}))));
    assert!(
        known.objects().is_none(),
        "the same version is the same object"
    );
}

#[test]
fn the_past_is_told_once_and_an_end_whenever_it_comes() {
    let before = json!({"status": {"startTime": "1970-01-01T00:00:05Z"}});
    let (mut known, first) = listed(vec![versioned(1, before)]);
    assert_eq!(first.pods[0].want.started_at, Some(Time(5_000_000_000)));
    let ended = json!({"status": {"phase": "Failed", "reason": "Evicted", "startTime": "1970-01-01T00:00:09Z"}});
    known.take(Event::Apply(versioned(2, ended)));
    let over = known.snapshot().unwrap().pods[0].want.clone();
    assert_eq!(over.over.as_ref().unwrap().reason, "Evicted");
    assert_eq!(over.started_at, Some(Time(5_000_000_000)));
    // Nothing takes an end back.
    known.take(Event::Apply(versioned(
        3,
        json!({"status": {"phase": "Running"}}),
    )));
    assert!(known.snapshot().is_none());
}

#[test]
fn mirrors_are_objects_and_no_wanted_pods() {
    let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "h"}}});
    let (mut known, first) = listed(vec![versioned(1, mirror)]);
    assert!(first.pods.is_empty() && first.problems.is_empty());
    let objects = known.objects().unwrap();
    assert_eq!((objects.pods.len(), objects.mirrors.len()), (0, 1));
}

#[test]
fn what_is_no_pod_is_shown_and_hurts_no_other() {
    let mut broken = pod("broken", json!({}));
    broken.spec = None;
    let (_, first) = listed(vec![broken, versioned(1, json!({}))]);
    assert_eq!(first.pods.len(), 1);
    assert!(
        first.problems[0].message.contains("spec is missing"),
        "{:?}",
        first.problems
    );
}

#[test]
fn who_was_made_first_comes_first() {
    let at = |name: &str, second: u32| {
        pod(
            name,
            json!({"metadata": {"creationTimestamp": format!("2026-01-01T00:00:0{second}Z")}}),
        )
    };
    let (_, first) = listed(vec![at("a", 3), at("b", 1), at("c", 1)]);
    let names: Vec<_> = first
        .pods
        .iter()
        .map(|pod| pod.want.name.name.to_string())
        .collect();
    assert_eq!(names, ["b", "c", "a"]);
}

#[test]
fn the_same_name_with_another_uid_is_another_pod() {
    let (mut known, _) = listed(vec![versioned(1, json!({}))]);
    known.take(Event::Delete(versioned(2, json!({}))));
    known.take(Event::Apply(versioned(
        3,
        json!({"metadata": {"uid": "other"}}),
    )));
    let snapshot = known.snapshot().unwrap();
    assert_eq!(snapshot.pods.len(), 1);
    assert_eq!(snapshot.pods[0].want.uid.as_str(), "other");
}
