#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::Duration;

use agent_core::{DeviceId, Hook, PodName, PodUid, Recovered};
use serde_json::json;

use super::{annotations_of_container, of_container, owner, recovered, restarts, selector};
use crate::config::testing::Scene;

fn container() -> serde_json::Value {
    json!({
        "image": "foo/image:v1",
        "ports": [{"name": "admin", "containerPort": 8081}],
        "lifecycle": {"preStop": {"httpGet": {"port": "admin", "path": "stop", "scheme": "HTTPS"}}},
    })
}

#[test]
fn names_are_the_stock_ones() {
    let scene = Scene::of_container(container());
    let input = scene.input();
    let labels = of_container(input.want, "main");
    let expected = [
        ("io.kubernetes.container.name", "main"),
        ("io.kubernetes.pod.name", "web-node"),
        ("io.kubernetes.pod.namespace", "space"),
        ("io.kubernetes.pod.uid", "uid-1"),
    ];
    let pairs = |pairs: &BTreeMap<String, String>| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    assert_eq!(pairs(&labels), expected.map(owned));

    let main = input.container("main").unwrap();
    let annotations = annotations_of_container(input.want, input.metadata, &main, 4, &[]);
    let ports = r#"[{"containerPort":8081,"name":"admin"}]"#;
    let pre_stop = r#"{"httpGet":{"path":"stop","port":"admin","scheme":"HTTPS"}}"#;
    let expected = [
        ("io.kubernetes.container.hash", "8e45cbd0"),
        ("io.kubernetes.container.ports", ports),
        ("io.kubernetes.container.preStopHandler", pre_stop),
        ("io.kubernetes.container.restartCount", "4"),
        (
            "io.kubernetes.container.terminationMessagePath",
            "/dev/termination-log",
        ),
        ("io.kubernetes.container.terminationMessagePolicy", "File"),
        ("io.kubernetes.pod.terminationGracePeriod", "30"),
    ];
    assert_eq!(pairs(&annotations), expected.map(owned));
}

#[test]
fn what_is_written_can_be_read_back() {
    let scene = Scene::of_container(container());
    let input = scene.input();
    let main = input.container("main").unwrap();
    let labels = of_container(input.want, "main");
    let annotations = annotations_of_container(
        input.want,
        input.metadata,
        &main,
        4,
        &[&DeviceId::new("GPU-1"), &DeviceId::new("GPU-2")],
    );
    let owner = owner(&labels).unwrap();
    assert_eq!(
        owner,
        (PodUid::new("uid-1"), PodName::new("space", "web-node"))
    );
    assert_eq!(restarts(&annotations), Some(4));
    let found = recovered(&annotations);
    assert_eq!(found.grace, Some(Duration::from_secs(30)));
    assert_eq!(
        found.devices,
        [DeviceId::new("GPU-1"), DeviceId::new("GPU-2")]
    );
    let Some(Hook::Http(get)) = found.pre_stop else {
        panic!("no HTTP hook")
    };
    assert_eq!(
        (get.tls, get.port, get.path.as_str()),
        (true, 8081, "/stop")
    );
    assert!(
        selector(&owner.0)
            .iter()
            .all(|pair| labels.get(pair.0) == Some(pair.1))
    );
}

#[test]
fn hooks() {
    let read = |handler: serde_json::Value| {
        let key = "io.kubernetes.container.preStopHandler".to_owned();
        recovered(&BTreeMap::from([(key, handler.to_string())])).pre_stop
    };
    let command = vec!["sh".to_owned(), "-c".to_owned()];
    assert_eq!(
        read(json!({"exec": {"command": ["sh", "-c"]}})),
        Some(Hook::Exec(command))
    );
    assert_eq!(
        read(json!({"sleep": {"seconds": 5}})),
        Some(Hook::Sleep(Duration::from_secs(5)))
    );
    assert_eq!(read(json!({"tcpSocket": {"port": 1}})), Some(Hook::Invalid));
    assert_eq!(
        read(json!({"httpGet": {"port": "none"}})),
        Some(Hook::Invalid)
    );
    let Some(Hook::Http(get)) = read(json!({"httpGet": {"port": "80"}})) else {
        panic!()
    };
    assert_eq!((get.tls, get.port, get.path.as_str()), (false, 80, "/"));
}

#[test]
fn what_cannot_be_read_is_nothing() {
    let broken = [
        ("io.kubernetes.pod.terminationGracePeriod", "soon"),
        ("io.kubernetes.container.preStopHandler", "{"),
        ("io.kubernetes.container.ports", "7"),
    ];
    let broken = broken.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(recovered(&BTreeMap::from(broken)), Recovered::default());
    let strangers = BTreeMap::from([("io.kubernetes.pod.uid".to_owned(), "u".to_owned())]);
    assert_eq!(owner(&strangers), None);
}
