#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use agent_core::{CdiName, ContainerName, DeviceId, ResourceName};
use agent_loops::ports::{
    DeviceGrant, IdRange, MountSource, PlainEdits, PreparedContainer, PreparedMount, Propagation,
};
use proto::cri::{CreateContainerRequest, MountPropagation, NamespaceMode, Signal};
use serde_json::{Value, json};

use super::super::kernel::Kernel;
use super::super::testing::Scene;
use super::{Answers, container_request, target};

fn build(container: Value, cdi: bool) -> CreateContainerRequest {
    let scene = Scene::of_container(container);
    let own = PreparedContainer {
        mounts: vec![
            mount(),
            PreparedMount {
                read_only: true,
                ..mount()
            },
        ],
        ..Default::default()
    };
    let spec = scene.container_spec(own, &[grant()]);
    let answers = Answers { cdi, target: None };
    container_request(&spec, &scene.node, &Kernel::default(), answers).unwrap()
}

fn mount() -> PreparedMount {
    PreparedMount {
        source: MountSource::Path(PathBuf::from(
            "/var/lib/kubelet/pods/uid-1/volumes/kubernetes.io~empty-dir/v",
        )),
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
fn an_image_is_mounted_by_what_its_reference_stands_for() {
    let image = PreparedMount {
        source: MountSource::Image {
            volume: "v".to_owned(),
            reference: "registry.example/data:1".to_owned(),
            sub_path: "in/side".to_owned(),
        },
        read_only: true,
        ..mount()
    };
    let images = BTreeMap::from([("v".to_owned(), "sha256:data".to_owned())]);
    let mount = super::mount(&image, &images);
    let shown = mount.image.unwrap();
    assert_eq!(
        (&*shown.image, &*shown.user_specified_image),
        ("sha256:data", "registry.example/data:1")
    );
    assert_eq!(
        (mount.image_sub_path, mount.host_path),
        ("in/side".to_owned(), String::new())
    );
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

#[test]
fn a_stop_signal_goes_to_the_runtime() {
    let container = json!({"lifecycle": {"stopSignal": "SIGUSR1"}});
    let config = build(container, true).config.unwrap();
    assert_eq!(config.stop_signal(), Signal::Sigusr1);
    let config = build(json!({}), true).config.unwrap();
    assert_eq!(config.stop_signal(), Signal::RuntimeDefault);
}

#[test]
fn mounts_of_a_user_namespace_are_mapped() {
    let mut scene = Scene::new(json!({"hostUsers": false}));
    scene.prepared.user_namespace = Some(IdRange {
        first: 65_536,
        length: 65_536,
    });
    let own = PreparedContainer {
        mounts: vec![mount()],
        ..Default::default()
    };
    let spec = scene.container_spec(own, &[grant()]);
    let request = container_request(&spec, &scene.node, &Kernel::default(), Answers::default());
    let mounts = request.unwrap().config.unwrap().mounts;
    assert_eq!(mounts.len(), 2);
    for mount in mounts {
        for ids in [&mount.uid_mappings, &mount.gid_mappings] {
            assert_eq!((ids[0].host_id, ids[0].length), (65_536, 65_536));
        }
    }
}

#[test]
fn an_ephemeral_container_looks_into_another() {
    let ephemeral = json!({
        "name": "debug", "image": "tools:1", "targetContainerName": "main", "tty": true,
        "command": ["sh"], "securityContext": {"runAsUser": 7},
    });
    for (more, target_id, expected) in [
        (json!({}), Some("id-1"), (NamespaceMode::Target, "id-1")),
        (json!({}), None, (NamespaceMode::Container, "")),
        // It sees them anyway.
        (
            json!({"shareProcessNamespace": true}),
            Some("id-1"),
            (NamespaceMode::Pod, ""),
        ),
        (
            json!({"hostPID": true}),
            Some("id-1"),
            (NamespaceMode::Node, ""),
        ),
    ] {
        let mut pod = more.clone();
        pod["ephemeralContainers"] = json!([ephemeral]);
        let scene = Scene::new(pod);
        let mut spec = scene.container_spec(PreparedContainer::default(), &[]);
        assert_eq!(target(&spec), None, "a main container has no target");
        spec.container = ContainerName::new("debug");
        assert_eq!(target(&spec), Some("main"));
        let answers = Answers {
            cdi: true,
            target: target_id,
        };
        let request = container_request(&spec, &scene.node, &Kernel::default(), answers).unwrap();
        let config = request.config.unwrap();
        assert_eq!(config.image.unwrap().user_specified_image, "tools:1");
        assert_eq!((config.command, config.tty), (vec!["sh".to_owned()], true));
        let hash = config.annotations.get("io.kubernetes.container.hash");
        assert_eq!(hash.map(String::as_str), Some("8e45cbd0"));
        let security = config.linux.unwrap().security_context.unwrap();
        assert_eq!(security.run_as_user.unwrap().value, 7);
        let options = security.namespace_options.unwrap();
        assert_eq!(
            (options.pid(), options.target_id.as_str()),
            expected,
            "{more}"
        );
    }
}
