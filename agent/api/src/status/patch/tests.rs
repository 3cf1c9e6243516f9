use k8s_openapi::api::core::v1::PodStatus;
use serde_json::{Value, json};

use super::between;

fn status(value: Value) -> PodStatus {
    serde_json::from_value(value).unwrap()
}

#[test]
fn only_what_changed_is_sent() {
    for (why, old, new, expected) in [
        (
            "a field",
            json!({"phase": "Pending", "reason": "x"}),
            json!({"phase": "Running"}),
            json!({"phase": "Running", "reason": null}),
        ),
        (
            "a condition among others",
            json!({"conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "False", "reason": "r", "message": "m"}]}),
            json!({"conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "True", "reason": "r"}]}),
            json!({
                "$setElementOrder/conditions": [{"type": "a"}, {"type": "b"}],
                "conditions": [{"type": "b", "status": "True", "message": null}],
            }),
        ),
        (
            "a new condition",
            json!({"conditions": [{"type": "a", "status": "True"}]}),
            json!({"conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "True"}]}),
            json!({
                "$setElementOrder/conditions": [{"type": "a"}, {"type": "b"}],
                "conditions": [{"type": "b", "status": "True"}],
            }),
        ),
        (
            "another address",
            json!({"podIPs": [{"ip": "1.1.1.1"}]}),
            json!({"podIPs": [{"ip": "2.2.2.2"}]}),
            json!({
                "$setElementOrder/podIPs": [{"ip": "2.2.2.2"}],
                "podIPs": [{"ip": "2.2.2.2"}, {"$patch": "delete", "ip": "1.1.1.1"}],
            }),
        ),
        (
            "another order",
            json!({"podIPs": [{"ip": "1.1.1.1"}, {"ip": "fd00::1"}]}),
            json!({"podIPs": [{"ip": "fd00::1"}, {"ip": "1.1.1.1"}]}),
            json!({"$setElementOrder/podIPs": [{"ip": "fd00::1"}, {"ip": "1.1.1.1"}]}),
        ),
        (
            "the first address",
            json!({}),
            json!({"podIPs": [{"ip": "1.1.1.1"}]}),
            json!({"podIPs": [{"ip": "1.1.1.1"}]}),
        ),
        (
            "no address any more",
            json!({"podIPs": [{"ip": "1.1.1.1"}]}),
            json!({}),
            json!({"podIPs": null}),
        ),
        (
            "an amount",
            json!({"allocatedResources": {"cpu": "1", "memory": "1Gi"}}),
            json!({"allocatedResources": {"cpu": "2"}}),
            json!({"allocatedResources": {"cpu": "2", "memory": null}}),
        ),
    ] {
        let patch = between("u", &status(old), &status(new)).unwrap().unwrap();
        assert_eq!(
            patch,
            json!({"metadata": {"uid": "u"}, "status": expected}),
            "{why}"
        );
    }
}

#[test]
fn containers_are_sent_as_a_whole_list() {
    let container = |ready: bool| json!({"containerStatuses": [{"name": "a", "image": "", "imageID": "", "ready": ready, "restartCount": 0}]});
    let patch = between("u", &status(container(false)), &status(container(true)))
        .unwrap()
        .unwrap();
    assert_eq!(patch["status"], container(true));
}

#[test]
fn the_same_is_not_sent() {
    let same = json!({"phase": "Running", "conditions": [{"type": "a", "status": "True"}]});
    assert_eq!(
        between("u", &status(same.clone()), &status(same)).unwrap(),
        None
    );
}
