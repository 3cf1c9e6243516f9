#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_core::{Fail, FailKind};
use serde_json::{Value, json};

use super::super::VolumeError;
use super::super::testing::{Bed, pod};
use super::{Asking, environment};

/// What a container with this in its manifest gets.
fn of(bed: &Bed, container: Value) -> Result<BTreeMap<String, String>, VolumeError> {
    let mut whole = json!({"name": "c", "resources": {"limits": {"cpu": "2"}}});
    let parts = container.as_object().unwrap().clone();
    whole.as_object_mut().unwrap().extend(parts);
    let pod = pod(json!({"nodeName": "node", "containers": [whole]}));
    let making = bed.making(&pod);
    environment(Asking {
        pod: &pod,
        container: &pod.spec.as_ref().unwrap().containers[0],
        ips: &["10.0.0.1".to_owned(), "fd00::1".to_owned()],
        tree: making.tree,
        references: making.references,
    })
}

fn assert_is(found: BTreeMap<String, String>, expected: &[(&str, &str)]) {
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn an_environment_knows_what_is_above() {
    let from = |field: &str| json!({"fieldRef": {"fieldPath": field}});
    let env = json!({"env": [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)-$(C)-$$(A)"},
        {"name": "C", "value": "late"},
        {"name": "NODE", "valueFrom": from("spec.nodeName")},
        {"name": "POD", "valueFrom": from("metadata.name")},
        {"name": "IP", "valueFrom": from("status.podIP")},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "NONE"},
    ]});
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
    assert_is(of(&Bed::new(), env).unwrap(), &expected);
}

/// A bed with objects and Services.
fn full() -> Bed {
    let mut bed = Bed::new();
    bed.secret("s", &[("key", "hidden"), ("both", "secret")]);
    let map = json!({"data": {"both": "map", "text": "t"}, "binaryData": {"raw": "AA=="}});
    let map = serde_json::from_value(map).unwrap();
    let maps = &mut bed.references.config_maps;
    maps.insert("m".to_owned(), Ok(Arc::new(map)));
    maps.insert("late".to_owned(), Err(Fail::retry("X", "not read yet")));
    let services = [("WEB_SERVICE_HOST", "10.9.0.1"), ("P_text", "service")];
    let services = services.map(|(name, value)| (name.to_owned(), value.to_owned()));
    bed.references.services = services.into();
    bed
}

#[test]
fn objects_and_services_are_variables() {
    let of_key = |kind: &str, name: &str, key: &str, optional: bool| {
        let reference = json!({"name": name, "key": key, "optional": optional});
        json!({kind: reference})
    };
    let container = json!({
        "envFrom": [
            {"prefix": "P_", "configMapRef": {"name": "m"}},
            {"prefix": "P_", "secretRef": {"name": "s"}},
            {"secretRef": {"name": "none", "optional": true}},
        ],
        "env": [
            {"name": "KEY", "valueFrom": of_key("secretKeyRef", "s", "key", false)},
            {"name": "TEXT", "valueFrom": of_key("configMapKeyRef", "m", "text", false)},
            {"name": "NO", "valueFrom": of_key("secretKeyRef", "s", "no", true)},
            {"name": "NONE", "valueFrom": of_key("configMapKeyRef", "none", "no", true)},
            {"name": "ALL", "value": "$(P_key)/$(WEB_SERVICE_HOST)/$(P_text)"},
            {"name": "P_both", "value": "own"},
        ],
    });
    let expected = [
        ("ALL", "hidden/10.9.0.1/t"),
        ("KEY", "hidden"),
        ("P_both", "own"),
        ("P_key", "hidden"),
        ("P_text", "t"),
        ("TEXT", "t"),
        ("WEB_SERVICE_HOST", "10.9.0.1"),
    ];
    assert_is(of(&full(), container).unwrap(), &expected);
}

#[test]
fn what_is_missing_may_come() {
    let bed = full();
    let key = |kind: &str, name: &str, key: &str| {
        let reference = json!({"name": name, "key": key});
        json!({"env": [{"name": "V", "valueFrom": {kind: reference}}]})
    };
    let table = [
        (
            key("secretKeyRef", "s", "no"),
            "couldn't find key no in Secret shop/s",
        ),
        (
            key("configMapKeyRef", "m", "raw"),
            "couldn't find key raw in ConfigMap shop/m",
        ),
        (
            key("secretKeyRef", "none", "k"),
            "secret \"none\" not found",
        ),
        (key("configMapKeyRef", "late", "k"), "not read yet"),
        (
            json!({"envFrom": [{"configMapRef": {"name": "none"}}]}),
            "configmap \"none\" not found",
        ),
    ];
    for (container, expected) in table {
        let fail = of(&bed, container).unwrap_err().fail("X");
        assert_eq!(
            (fail.kind, fail.message.as_str()),
            (FailKind::Retry, expected)
        );
    }
}
