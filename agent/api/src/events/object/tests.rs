#![allow(clippy::unwrap_used)]

use agent_core::Time;
use serde_json::json;

use super::*;

fn happened(subject: Subject) -> AgentEvent {
    AgentEvent {
        sequence: 1,
        time: Time(1_767_225_600_000_000_000),
        first: Time(1_767_225_600_000_000_000),
        count: 1,
        kind: EventKind::Warning,
        reason: "BackOff".into(),
        subject,
        message: "words".to_owned(),
        why: None,
    }
}

fn container(name: &str) -> Subject {
    Subject::Container {
        uid: PodUid::new("u"),
        name: PodName::new("ns", "p"),
        container: ContainerName::new(name),
    }
}

#[test]
fn an_event_of_a_container_names_its_place() {
    let manifest: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "ns", "resourceVersion": "7"},
        "spec": {
            "containers": [{"name": "main"}], "initContainers": [{"name": "first"}],
            "ephemeralContainers": [{"name": "look"}],
        },
    }))
    .unwrap();
    let around = Surroundings {
        node_name: "n1",
        node: None,
        pod: Some(&manifest),
    };
    for (name, place) in [
        ("main", "spec.containers{main}"),
        ("first", "spec.initContainers{first}"),
        ("look", "spec.ephemeralContainers{look}"),
        ("unknown", "spec.containers{unknown}"),
    ] {
        let event = event(&happened(container(name)), 1, around);
        assert_eq!(event.involved_object.field_path.as_deref(), Some(place));
    }
    let event = serde_json::to_value(event(&happened(container("main")), 0x10, around)).unwrap();
    let expected = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": "p.10", "namespace": "ns"},
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "namespace": "ns", "name": "p", "uid": "u",
            "resourceVersion": "7", "fieldPath": "spec.containers{main}",
        },
        "type": "Warning", "reason": "BackOff", "message": "words", "count": 1,
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
        "source": {"component": "kubelet", "host": "n1"},
        "reportingComponent": "kubelet", "reportingInstance": "n1",
    });
    assert_eq!(event, expected);
}

#[test]
fn events_of_the_node_are_in_default() {
    let mut node = Node::default();
    node.metadata.uid = Some("uid".to_owned());
    let around = |node| Surroundings {
        node_name: "n1",
        node,
        pod: None,
    };
    let early = event(&happened(Subject::Node), 1, around(None));
    assert_eq!(early.metadata.namespace.as_deref(), Some("default"));
    assert_eq!(early.involved_object.uid, None);
    let later = event(
        &happened(Subject::Part("GPU 0".to_owned())),
        1,
        around(Some(&node)),
    );
    assert_eq!(later.involved_object.kind.as_deref(), Some("Node"));
    assert_eq!(later.involved_object.uid.as_deref(), Some("uid"));
    assert_eq!(later.message.as_deref(), Some("GPU 0: words"));
}

#[test]
fn long_names_are_cut() {
    let long = "a".repeat(253);
    let name = super::name(&long, i64::MAX);
    assert_eq!(name.len(), 253);
    assert!(name.ends_with(".7fffffffffffffff"));
    let dotted = format!("{}.b{}", "a".repeat(235), "c".repeat(17));
    assert!(!super::name(&dotted, i64::MAX).contains(".."));
}
