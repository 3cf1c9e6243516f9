#![allow(clippy::unwrap_used)]

use super::*;

fn node(value: Value) -> Node {
    serde_json::from_value(value).unwrap()
}

fn patch(old: Value, new: Value) -> Option<Value> {
    between(&node(old), &node(new)).unwrap()
}

#[test]
fn only_what_changed_is_sent() {
    let old = json!({
        "metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"x": "y"}},
        "spec": {"unschedulable": true},
        "status": {"capacity": {"cpu": "2", "hugepages-1Gi": "0"}, "volumesInUse": ["v"]},
    });
    let new = json!({
        "metadata": {"labels": {"a": "1", "b": "3"}},
        "status": {"capacity": {"cpu": "4"}, "volumesInUse": ["v"]},
    });
    let expected = json!({
        "metadata": {"labels": {"b": "3"}, "annotations": {"x": null}},
        "status": {"capacity": {"cpu": "4", "hugepages-1Gi": null}},
    });
    assert_eq!(patch(old.clone(), new), Some(expected));
    assert_eq!(patch(old.clone(), old), None);
}

#[test]
fn conditions_of_others_are_not_sent() {
    let condition =
        |name: &str, at: &str| json!({"type": name, "status": "True", "lastHeartbeatTime": at});
    let (then, now) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z");
    let old =
        json!({"status": {"conditions": [condition("Other", then), condition("Ready", then)]}});
    let new =
        json!({"status": {"conditions": [condition("Other", then), condition("Ready", now)]}});
    let expected = json!({"status": {
        "$setElementOrder/conditions": [{"type": "Other"}, {"type": "Ready"}],
        "conditions": [condition("Ready", now)],
    }});
    assert_eq!(patch(old, new), Some(expected));
}

#[test]
fn addresses_replace_each_other() {
    let address = |text: &str| json!({"type": "InternalIP", "address": text});
    let with = |addresses: Value| json!({"status": {"addresses": addresses}});
    let (one, two) = (
        with(json!([address("1.1.1.1")])),
        with(json!([address("2.2.2.2")])),
    );
    let replaced = with(json!([address("2.2.2.2"), {"$patch": "replace"}]));
    assert_eq!(patch(one, two.clone()), Some(replaced));
    assert_eq!(patch(json!({}), two.clone()), Some(two));
}
