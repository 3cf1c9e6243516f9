#![allow(clippy::unwrap_used)]

use agent_core::{CdiName, ContainerName, DeviceId, ResourceName};
use agent_loops::ports::{DeviceGrant, PlainEdits};
use serde_json::{Value, json};

use super::super::error::ConfigError;
use super::super::testing::Scene;
use super::Environment;

fn build(container: Value, grants: &[DeviceGrant], cdi: bool) -> Result<Vec<String>, ConfigError> {
    let scene = Scene::of_container(container);
    let input = scene.input();
    let container = input.container("main").unwrap();
    let ips = ["10.1.0.5".to_owned()];
    let environment = Environment::of(&input, container, &ips, grants, cdi)?;
    let text = |(name, value): (String, String)| format!("{name}={value}");
    Ok(environment.0.into_iter().map(text).collect())
}

fn grant() -> DeviceGrant {
    DeviceGrant {
        container: ContainerName::new("main"),
        resource: ResourceName::new("nvidia.com/gpu"),
        devices: vec![DeviceId::new("GPU-1")],
        cdi: vec![CdiName::new("nvidia.com/gpu=GPU-1")],
        plain: PlainEdits {
            env: vec![
                ("NVIDIA_VISIBLE_DEVICES".to_owned(), "GPU-1".to_owned()),
                ("MODE".to_owned(), "device".to_owned()),
            ],
            ..Default::default()
        },
    }
}

#[test]
fn values_order_and_references() {
    let env = json!([
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)-$(C)-$$(A)"},
        {"name": "C", "value": "3"},
        {"name": "A", "value": "$(A)2"},
        {"name": "E", "value": ""},
        {"name": "N"},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ]);
    let expected = [
        "NVIDIA_VISIBLE_DEVICES=void",
        "A=12",
        "B=1-$(C)-$(A)",
        "C=3",
        "E=",
        "N=",
        "IP=10.1.0.5",
        "CPU=8",
    ];
    assert_eq!(build(json!({"env": env}), &[], true).unwrap(), expected);
}

#[test]
fn no_image_gets_a_gpu_by_asking() {
    let void = ["NVIDIA_VISIBLE_DEVICES=void"];
    assert_eq!(build(json!({}), &[], true).unwrap(), void);
    assert_eq!(build(json!({}), &[], false).unwrap(), void);
    let env = json!({"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]});
    assert_eq!(
        build(env, &[], true).unwrap(),
        ["NVIDIA_VISIBLE_DEVICES=all"]
    );
}

#[test]
fn devices_bring_their_variables_only_where_cdi_does_not() {
    let grants = [grant()];
    assert_eq!(
        build(json!({}), &grants, true).unwrap(),
        ["NVIDIA_VISIBLE_DEVICES=void"]
    );
    let env = json!({"env": [{"name": "MODE", "value": "own"}]});
    assert_eq!(
        build(env, &grants, false).unwrap(),
        ["NVIDIA_VISIBLE_DEVICES=GPU-1", "MODE=own"]
    );
}

#[test]
fn what_comes_from_an_api_server() {
    let key = |kind: &str, optional: bool| json!({"env": [{"name": "X", "valueFrom": {kind: {"name": "n", "key": "k", "optional": optional}}}]});
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        assert_eq!(
            build(key(kind, true), &[], true).unwrap(),
            ["NVIDIA_VISIBLE_DEVICES=void"]
        );
        let error = Scene::error(build(key(kind, false), &[], true));
        assert!(error.contains("environment variable X: "), "{error}");
        assert!(error.contains("comes from an API server"), "{error}");
    }
    for kind in ["configMapRef", "secretRef"] {
        let from =
            |optional: bool| json!({"envFrom": [{kind: {"name": "n", "optional": optional}}]});
        build(from(true), &[], true).unwrap();
        let error = Scene::error(build(from(false), &[], true));
        assert!(error.contains("envFrom refers to"), "{error}");
    }
}

#[test]
fn a_bad_reference_names_its_variable() {
    let env = json!([{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "spec.none"}}}]);
    let error = Scene::error(build(json!({"env": env}), &[], true));
    assert_eq!(
        error,
        "environment variable X: fieldPath \"spec.none\" cannot be asked for"
    );
    let file = json!({"fileKeyRef": {"key": "k", "path": "p", "volumeName": "v"}});
    let error = Scene::error(build(
        json!({"env": [{"name": "X", "valueFrom": file}]}),
        &[],
        true,
    ));
    assert!(error.contains("fileKeyRef is not supported"), "{error}");
}
