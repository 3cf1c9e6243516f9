#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use agent_core::{CdiName, ContainerName, DeviceId, ResourceName, SandboxId};
use agent_loops::ports::{
    ContainerSpec, DeviceGrant, ImageFacts, PlainEdits, PreparedContainer, PreparedMount,
    Propagation,
};
use proto::cri::{CreateContainerRequest, MountPropagation};
use serde_json::{Value, json};

use super::super::kernel::Kernel;
use super::super::testing::Scene;
use super::container_request;

fn build(container: Value, cdi: bool) -> CreateContainerRequest {
    let Scene {
        pod,
        prepared,
        node,
    } = Scene::of_container(container);
    let spec = ContainerSpec {
        references: Arc::default(),
        pod,
        container: ContainerName::new("main"),
        attempt: 3,
        sandbox: SandboxId::new("sandbox-1"),
        sandbox_attempt: 1,
        ips: vec!["10.1.0.5".to_owned()],
        prepared: Arc::new(prepared),
        own: PreparedContainer {
            mounts: vec![
                mount(),
                PreparedMount {
                    read_only: true,
                    ..mount()
                },
            ],
        },
        image: ImageFacts {
            reference: "sha256:1".into(),
            uid: None,
            username: String::new(),
        },
        grants: vec![grant()],
    };
    container_request(&spec, &node, &Kernel::default(), cdi).unwrap()
}

fn mount() -> PreparedMount {
    PreparedMount {
        host_path: PathBuf::from("/var/lib/kubelet/pods/uid-1/volumes/kubernetes.io~empty-dir/v"),
        container_path: "/data".to_owned(),
        read_only: false,
        recursive_read_only: false,
        propagation: Propagation::HostToContainer,
    }
}

fn grant() -> DeviceGrant {
    DeviceGrant {
        container: ContainerName::new("main"),
        resource: ResourceName::new("nvidia.com/gpu"),
        devices: vec![DeviceId::new("GPU-1")],
        cdi: vec![CdiName::new("nvidia.com/gpu=GPU-1")],
        plain: PlainEdits {
            env: vec![("FROM_DEVICE".to_owned(), "yes".to_owned())],
            mounts: vec![("/usr/lib/a.so".to_owned(), "/lib/a.so".to_owned())],
            nodes: vec![(
                "/dev/nvidia0".to_owned(),
                "/dev/nvidia0".to_owned(),
                "rw".to_owned(),
            )],
        },
    }
}

#[test]
fn what_is_run() {
    let request = build(
        json!({
            "image": "registry.example/app:1",
            "command": ["/bin/$(NAME)", "$(MISSING)"],
            "args": ["$$(NAME)"],
            "workingDir": "/work",
            "env": [{"name": "NAME", "value": "app"}],
            "stdin": true, "tty": true,
        }),
        true,
    );
    assert_eq!(request.pod_sandbox_id, "sandbox-1");
    let config = request.config.unwrap();
    assert_eq!(config.command, ["/bin/app", "$(MISSING)"]);
    assert_eq!(config.args, ["$(NAME)"]);
    assert_eq!(config.working_dir, "/work");
    assert!(config.stdin && config.tty && !config.stdin_once);
    let image = config.image.unwrap();
    assert_eq!(image.image, "sha256:1");
    assert_eq!(image.user_specified_image, "registry.example/app:1");
    let metadata = config.metadata.unwrap();
    assert_eq!((metadata.name.as_str(), metadata.attempt), ("main", 3));
    assert_eq!(config.log_path, "main/3.log");
    assert_eq!(
        config.labels.get("io.kubernetes.container.name").unwrap(),
        "main"
    );
    assert_eq!(
        config
            .annotations
            .get("io.kubernetes.container.restartCount")
            .unwrap(),
        "3"
    );
    let sandbox = request.sandbox_config.unwrap();
    assert_eq!(sandbox.metadata.unwrap().attempt, 1);
    assert_eq!(sandbox.log_directory, "/var/log/pods/space_web-node_uid-1");
}

#[test]
fn mounts_keep_order_and_rights() {
    let mounts = build(json!({}), true).config.unwrap().mounts;
    assert_eq!(mounts.len(), 2);
    assert_eq!(mounts[0].container_path, "/data");
    assert_eq!(
        mounts[0].propagation(),
        MountPropagation::PropagationHostToContainer
    );
    assert_eq!([mounts[0].readonly, mounts[1].readonly], [false, true]);
}

#[test]
fn devices_by_name_or_spelled_out_never_both() {
    let named = build(json!({}), true).config.unwrap();
    let names: Vec<_> = named
        .cdi_devices
        .iter()
        .map(|device| device.name.as_str())
        .collect();
    assert_eq!(
        (names, named.devices.len()),
        (vec!["nvidia.com/gpu=GPU-1"], 0)
    );
    assert!(
        !named
            .envs
            .iter()
            .any(|variable| variable.key == "FROM_DEVICE")
    );

    let plain = build(json!({}), false).config.unwrap();
    assert_eq!((plain.cdi_devices.len(), plain.devices.len()), (0, 1));
    assert_eq!(plain.devices[0].host_path, "/dev/nvidia0");
    assert_eq!(plain.devices[0].permissions, "rw");
    let library = plain.mounts.last().unwrap();
    assert_eq!(library.host_path, "/usr/lib/a.so");
    assert!(library.readonly);
    assert!(
        plain
            .envs
            .iter()
            .any(|variable| variable.key == "FROM_DEVICE")
    );
}
