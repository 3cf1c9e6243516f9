#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::json;

use super::super::testing::{Bed, pod};
use super::environment;

#[test]
fn an_environment_knows_what_is_above() {
    let bed = Bed::new();
    let from = |field: &str| json!({"fieldRef": {"fieldPath": field}});
    let pod = pod(json!({
        "nodeName": "node",
        "containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}, "env": [
            {"name": "A", "value": "1"},
            {"name": "B", "value": "$(A)-$(C)-$$(A)"},
            {"name": "C", "value": "late"},
            {"name": "NODE", "valueFrom": from("spec.nodeName")},
            {"name": "POD", "valueFrom": from("metadata.name")},
            {"name": "IP", "valueFrom": from("status.podIP")},
            {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "NONE"},
            {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ]}],
    }));
    let container = &pod.spec.as_ref().unwrap().containers[0];
    let ips = ["10.0.0.1".to_owned(), "fd00::1".to_owned()];
    let found = environment(&pod, container, &ips, bed.making(&pod).tree);
    let expected = [
        ("A", "1"),
        ("B", "1-$(C)-$(A)"),
        ("C", "late"),
        ("CPU", "2"),
        ("IP", "10.0.0.1"),
        ("NODE", "node"),
        ("NONE", ""),
        ("POD", "web"),
    ];
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(found, expected);
}
