#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use agent_core::{CdiName, ContainerName, DeviceId, Fail, FailKind, ResourceName};
use agent_loops::ports::{DeviceGrant, PlainEdits, PreparedContainer, References};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Value, json};

use super::super::error::ConfigError;
use super::super::testing::Scene;
use super::Environment;

const VOID: &str = "NVIDIA_VISIBLE_DEVICES=void";

fn scene(container: Value) -> Scene {
    Scene {
        references: references(),
        ..Scene::of_container(container)
    }
}

/// A ConfigMap and a Secret of two keys each, one of each that is not there, three Services.
fn references() -> References {
    let map = ConfigMap {
        data: Some(
            [
                ("k".to_owned(), "from map".to_owned()),
                ("1-x".to_owned(), "$(k)".to_owned()),
            ]
            .into(),
        ),
        ..Default::default()
    };
    let secret = Secret {
        data: Some(
            [
                ("k".to_owned(), ByteString(b"from secret".to_vec())),
                ("raw".to_owned(), ByteString(vec![0xff])),
            ]
            .into(),
        ),
        ..Default::default()
    };
    let lost = |kind: &str| Fail::gone("NotFound", format!("{kind} \"lost\" not found"));
    let cut = Fail::retry("Unavailable", "no connection");
    let service = |name: &str| (name.to_owned(), format!("service {name}"));
    References {
        config_maps: [
            ("n".to_owned(), Ok(Arc::new(map))),
            ("lost".to_owned(), Err(lost("configmap"))),
            ("cut".to_owned(), Err(cut.clone())),
        ]
        .into(),
        secrets: [
            ("n".to_owned(), Ok(Arc::new(secret))),
            ("lost".to_owned(), Err(lost("secret"))),
            ("cut".to_owned(), Err(cut)),
        ]
        .into(),
        services: vec![
            service("WEB_SERVICE_HOST"),
            service("MODE"),
            service("K_SERVICE"),
        ],
        ..Default::default()
    }
}

fn environment(
    scene: &Scene,
    grants: &[DeviceGrant],
    cdi: bool,
) -> Result<Environment, ConfigError> {
    let input = scene.input();
    let container = input.container("main").unwrap();
    let spec = scene.container_spec(PreparedContainer::default(), grants);
    Environment::of(&input, &container, &spec, cdi)
}

fn texts(environment: Environment) -> Vec<String> {
    let text =
        |(name, value): (String, Vec<u8>)| format!("{name}={}", String::from_utf8_lossy(&value));
    environment.0.into_iter().map(text).collect()
}

/// Without Services.
fn build(container: Value, grants: &[DeviceGrant], cdi: bool) -> Result<Vec<String>, ConfigError> {
    let mut scene = scene(container);
    scene.references.services.clear();
    environment(&scene, grants, cdi).map(texts)
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
        VOID,
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
    assert_eq!(build(json!({}), &[], true).unwrap(), [VOID]);
    assert_eq!(build(json!({}), &[], false).unwrap(), [VOID]);
    let env = json!({"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]});
    assert_eq!(
        build(env, &[], true).unwrap(),
        ["NVIDIA_VISIBLE_DEVICES=all"]
    );
}

#[test]
fn devices_bring_their_variables_only_where_cdi_does_not() {
    let grants = [grant()];
    assert_eq!(build(json!({}), &grants, true).unwrap(), [VOID]);
    let env = json!({"env": [{"name": "MODE", "value": "own"}]});
    assert_eq!(
        build(env, &grants, false).unwrap(),
        ["NVIDIA_VISIBLE_DEVICES=GPU-1", "MODE=own"]
    );
}

#[test]
fn services_come_last_and_can_be_referred_to() {
    let container = json!({
        "env": [
            {"name": "K_SERVICE", "value": "own of $(WEB_SERVICE_HOST)"},
            {"name": "SECOND", "value": "$(K_SERVICE)"},
        ],
    });
    let built = environment(&scene(container), &[grant()], false).unwrap();
    assert_eq!(built.get("MODE"), Some("device"));
    assert_eq!(
        texts(built),
        [
            "NVIDIA_VISIBLE_DEVICES=GPU-1",
            "MODE=device",
            "K_SERVICE=own of service WEB_SERVICE_HOST",
            "SECOND=own of service WEB_SERVICE_HOST",
            "WEB_SERVICE_HOST=service WEB_SERVICE_HOST",
        ]
    );
}

#[test]
fn keys_of_objects() {
    let key = |kind: &str, name: &str, key: &str, optional: bool| {
        let from = json!({kind: {"name": name, "key": key, "optional": optional}});
        build(
            json!({"env": [{"name": "X", "valueFrom": from}, {"name": "Y", "value": "$(X)"}]}),
            &[],
            true,
        )
    };
    let (map, secret) = ("configMapKeyRef", "secretKeyRef");
    for (kind, value) in [(map, "from map"), (secret, "from secret")] {
        let expected = [VOID.to_owned(), format!("X={value}"), format!("Y={value}")];
        assert_eq!(key(kind, "n", "k", false).unwrap(), expected);
        // Optional: an object or a key that is not there leaves the variable out.
        for (name, each) in [("lost", "k"), ("n", "none"), ("unheard", "k")] {
            assert_eq!(
                key(kind, name, each, true).unwrap(),
                [VOID, "Y=$(X)"],
                "{name}"
            );
        }
    }
    for (kind, name, each, optional, text) in [
        (map, "lost", "k", false, "configmap \"lost\" not found"),
        (secret, "lost", "k", false, "secret \"lost\" not found"),
        (
            map,
            "n",
            "none",
            false,
            "couldn't find key none in ConfigMap space/n",
        ),
        (
            secret,
            "n",
            "none",
            false,
            "couldn't find key none in Secret space/n",
        ),
        // Optional is what is not there, not what cannot be asked for.
        (map, "cut", "k", true, "no connection"),
        (secret, "cut", "k", true, "no connection"),
        (
            secret,
            "unheard",
            "k",
            false,
            "couldn't get secret space/unheard: it comes from an API server, and this node has none",
        ),
    ] {
        let error = key(kind, name, each, optional).unwrap_err();
        let fail = error.fail_container();
        assert_eq!(
            (fail.kind, fail.reason),
            (FailKind::Retry, "CreateContainerConfigError")
        );
        assert_eq!(fail.message, text);
    }
}

#[test]
fn whole_objects() {
    let from = |sources: Value| {
        build(
            json!({"envFrom": sources, "env": [{"name": "k", "value": "own"}]}),
            &[],
            true,
        )
    };
    let (map, secret) = (json!({"name": "n"}), json!({"name": "n"}));
    // In their order, any name, nothing expanded; `env` outranks them.
    assert_eq!(
        from(json!([{"configMapRef": map, "prefix": "M_"}, {"configMapRef": map}, {"secretRef": secret}])).unwrap(),
        [VOID, "M_1-x=$(k)", "M_k=from map", "1-x=$(k)", "k=own", "raw=\u{fffd}"]
    );
    for (kind, name) in [("configMapRef", "configmap"), ("secretRef", "secret")] {
        let source = |optional: bool| json!([{kind: {"name": "lost", "optional": optional}}]);
        assert_eq!(from(source(true)).unwrap(), [VOID, "k=own"]);
        let error = Scene::error(from(source(false)));
        assert_eq!(error, format!("{name} \"lost\" not found"));
    }
}

#[test]
fn a_secret_need_not_be_text() {
    let source = json!({"secretKeyRef": {"name": "n", "key": "raw"}});
    let scene = scene(json!({"env": [
        {"name": "RAW", "valueFrom": source}, {"name": "REF", "value": "$(RAW)"},
    ]}));
    let pairs = environment(&scene, &[], true).unwrap().into_pairs();
    let value = |name: &str| {
        pairs
            .iter()
            .find(|pair| pair.key == name)
            .unwrap()
            .value
            .clone()
    };
    assert_eq!(value("RAW"), [0xff]);
    assert_eq!(value("REF"), b"$(RAW)");
    assert!(!format!("{:?}", environment(&scene, &[], true).unwrap()).contains("255"));
}

#[test]
fn a_bad_reference_names_its_variable() {
    let env = json!([{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "spec.none"}}}]);
    let error = Scene::error(build(json!({"env": env}), &[], true));
    assert_eq!(
        error,
        "environment variable X: fieldPath \"spec.none\" cannot be asked for"
    );
}

#[test]
fn values_from_files() {
    let container = |optional: bool| {
        let file = json!({"fileKeyRef": {"key": "k", "path": "p", "volumeName": "v", "optional": optional}});
        json!({"env": [{"name": "X", "valueFrom": file}]})
    };
    let missing = "environment variable key \"k\" not found in file \"p\"";
    for (value, optional, expected) in [
        (Some(Ok(Some("v".to_owned()))), false, Ok("X=v")),
        (Some(Ok(Some(String::new()))), false, Err(missing)),
        (Some(Ok(None)), false, Err(missing)),
        (Some(Ok(None)), true, Ok("")),
        (None, false, Err(missing)),
        (
            Some(Err(Fail::retry("X", "couldn't parse env file"))),
            true,
            Err("couldn't parse env file"),
        ),
    ] {
        let scene = scene(container(optional));
        let input = scene.input();
        let own = PreparedContainer {
            file_values: value
                .into_iter()
                .map(|value| ("X".to_owned(), value))
                .collect(),
            ..Default::default()
        };
        let spec = scene.container_spec(own, &[]);
        let built = Environment::of(&input, &input.container("main").unwrap(), &spec, true);
        let built = built.map(|built| {
            texts(built)
                .into_iter()
                .find(|text| text.starts_with("X="))
                .unwrap_or_default()
        });
        assert_eq!(
            built.map_err(|error| error.to_string()),
            expected.map(str::to_owned).map_err(str::to_owned)
        );
    }
}
