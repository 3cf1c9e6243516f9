#![allow(clippy::unwrap_used)]

use proto::cri::{PortMapping, Protocol};
use serde_json::json;

use super::super::testing::Scene;
use super::port_mappings;

fn mapping(protocol: Protocol, container: i32, host: i32, ip: &str) -> PortMapping {
    PortMapping {
        protocol: protocol.into(),
        container_port: container,
        host_port: host,
        host_ip: ip.to_owned(),
    }
}

#[test]
fn ports_of_main_containers() {
    let scene = Scene::new(json!({
        "initContainers": [{"ports": [{"containerPort": 1, "hostPort": 1}]}],
        "containers": [
            {"name": "a", "ports": [
                {"containerPort": 80, "hostPort": 8080},
                {"containerPort": 80, "hostPort": 8080},
                {"containerPort": 80, "hostPort": 8080, "hostIP": "::1"},
                {"containerPort": 53, "protocol": "UDP", "hostIP": "192.0.2.7", "hostPort": 53},
            ]},
            {"name": "b", "ports": [
                {"name": "x", "containerPort": 1, "protocol": "SCTP"},
                {"name": "x", "containerPort": 2},
            ]},
        ],
    }));
    let expected = vec![
        mapping(Protocol::Tcp, 80, 8080, ""),
        mapping(Protocol::Tcp, 80, 8080, "::1"),
        mapping(Protocol::Udp, 53, 53, "192.0.2.7"),
        mapping(Protocol::Sctp, 1, 0, ""),
    ];
    assert_eq!(port_mappings(&scene.input()).unwrap(), expected);
}

#[test]
fn unknown_protocol() {
    let scene = Scene::of_container(json!({"ports": [{"containerPort": 1, "protocol": "tcp"}]}));
    let error = Scene::error(port_mappings(&scene.input()));
    assert!(error.contains("allowed are TCP, UDP and SCTP"), "{error}");
}
