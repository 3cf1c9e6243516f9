#![allow(clippy::unwrap_used)]

use k8s_openapi::api::core::v1::{ObjectFieldSelector, ResourceFieldSelector};
use serde_json::{Value, json};

use super::super::testing::Scene;
use super::{of_pod, of_resources};

fn field(path: &str) -> Result<String, String> {
    let scene = Scene::new(json!({"nodeName": "node", "serviceAccountName": "robot"}));
    let selector = ObjectFieldSelector {
        api_version: None,
        field_path: path.to_owned(),
    };
    of_pod(
        &scene.input(),
        &selector,
        &["10.1.0.5".to_owned(), "fd00::5".to_owned()],
    )
}

#[test]
fn fields() {
    for (path, value) in [
        ("metadata.name", "web-node"),
        ("metadata.namespace", "space"),
        ("metadata.uid", "uid-1"),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['note']", "a \"b\""),
        (
            "metadata.annotations['kubernetes.io/config.source']",
            "file",
        ),
        ("metadata.labels", "app=\"web\""),
        ("spec.nodeName", "node"),
        ("spec.serviceAccountName", "robot"),
        ("status.hostIP", "192.0.2.7"),
        ("status.hostIPs", "192.0.2.7,2001:db8::7"),
        ("status.podIP", "10.1.0.5"),
        ("status.podIPs", "10.1.0.5,fd00::5"),
    ] {
        assert_eq!(field(path).as_deref(), Ok(value), "{path}");
    }
    let annotations = field("metadata.annotations").unwrap();
    assert!(
        annotations.ends_with("\nnote=\"a \\\"b\\\"\""),
        "{annotations}"
    );
    for path in [
        "status.phase",
        "spec.nodeName['a']",
        "metadata.labels['",
        "",
    ] {
        assert!(field(path).is_err(), "{path}");
    }
}

fn resource(resource: &str, divisor: &str, container: &str) -> Result<String, String> {
    let asks = json!({
        "limits": {"cpu": "1500m", "hugepages-2Mi": "4Mi"},
        "requests": {"memory": "100Mi"},
    });
    let scene = Scene::new(json!({
        "containers": [{"name": "main", "resources": asks}, {"name": "bare"}],
    }));
    let named = if container.is_empty() {
        json!(null)
    } else {
        json!(container)
    };
    let selector: Value = json!({"resource": resource, "divisor": divisor, "containerName": named});
    let selector: ResourceFieldSelector = serde_json::from_value(selector).unwrap();
    let input = scene.input();
    of_resources(&input, &input.container("main").unwrap(), &selector)
}

#[test]
fn resources() {
    for (name, divisor, container, value) in [
        ("limits.cpu", "0", "", "2"),
        ("limits.cpu", "1m", "", "1500"),
        ("requests.cpu", "1m", "", "1500"),
        ("requests.memory", "1Mi", "", "100"),
        ("requests.memory", "1M", "", "105"),
        ("limits.memory", "1Gi", "", "90"),
        ("limits.ephemeral-storage", "1Gi", "", "1024"),
        ("limits.hugepages-2Mi", "1Mi", "", "4"),
        ("limits.cpu", "1", "bare", "8"),
        ("requests.cpu", "1", "bare", "0"),
    ] {
        assert_eq!(
            resource(name, divisor, container).as_deref(),
            Ok(value),
            "{name} {divisor}"
        );
    }
    for (name, divisor, container) in [
        ("limits.nvidia.com/gpu", "1", ""),
        ("cpu", "1", ""),
        ("used.cpu", "1", ""),
        ("limits.cpu", "x", ""),
        ("limits.cpu", "1", "none"),
    ] {
        assert!(
            resource(name, divisor, container).is_err(),
            "{name} {divisor} {container}"
        );
    }
}
