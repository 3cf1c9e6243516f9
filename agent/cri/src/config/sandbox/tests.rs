#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use agent_loops::ports::SandboxSpec;
use proto::cri::security_profile::ProfileType;
use proto::cri::{NamespaceMode, PodSandboxConfig, SupplementalGroupsPolicy};
use serde_json::{Value, json};

use super::super::testing::Scene;
use super::sandbox_config;

fn build(spec: Value) -> Result<PodSandboxConfig, super::ConfigError> {
    let Scene {
        pod,
        prepared,
        node,
    } = Scene::new(spec);
    sandbox_config(
        &SandboxSpec {
            references: Arc::default(),
            pod,
            attempt: 2,
            prepared: Arc::new(prepared),
        },
        &node,
    )
}

#[test]
fn identity_and_places() {
    let config = build(json!({})).unwrap();
    let metadata = config.metadata.unwrap();
    let names = (
        metadata.namespace.as_str(),
        metadata.name.as_str(),
        metadata.uid.as_str(),
    );
    assert_eq!(
        (names, metadata.attempt),
        (("space", "web-node", "uid-1"), 2)
    );
    assert_eq!(config.log_directory, "/var/log/pods/space_web-node_uid-1");
    assert_eq!(config.hostname, "web-node");
    assert_eq!(
        config.linux.unwrap().cgroup_parent,
        "/kubepods/burstable/poduid-1"
    );
    let label = |key: &str| config.labels.get(key).map(String::as_str);
    assert_eq!(label("app"), Some("web"));
    assert_eq!(label("io.kubernetes.pod.name"), Some("web-node"));
    assert_eq!(label("io.kubernetes.pod.namespace"), Some("space"));
    assert_eq!(label("io.kubernetes.pod.uid"), Some("uid-1"));
    let annotation = |key: &str| config.annotations.get(key).map(String::as_str);
    assert_eq!(annotation("kubernetes.io/config.source"), Some("file"));
    assert_eq!(annotation("kubernetes.io/config.hash"), Some("uid-1"));
    assert!(annotation("note").is_some());
}

#[test]
fn namespaces_and_privilege() {
    use NamespaceMode::{Container, Node, Pod};
    for (spec, network, pid, ipc, privileged) in [
        (json!({}), Pod, Container, Pod, false),
        (json!({"hostNetwork": true}), Node, Container, Pod, false),
        (
            json!({"hostPID": true, "shareProcessNamespace": true}),
            Pod,
            Node,
            Pod,
            false,
        ),
        (
            json!({"shareProcessNamespace": true, "hostIPC": true}),
            Pod,
            Pod,
            Node,
            false,
        ),
        (
            json!({"initContainers": [{"securityContext": {"privileged": true}}]}),
            Pod,
            Container,
            Pod,
            true,
        ),
    ] {
        let security = build(spec.clone())
            .unwrap()
            .linux
            .unwrap()
            .security_context
            .unwrap();
        let options = security.namespace_options.unwrap();
        assert_eq!(
            (options.network(), options.pid(), options.ipc()),
            (network, pid, ipc),
            "{spec}"
        );
        assert_eq!(security.privileged, privileged, "{spec}");
        assert_eq!(
            security.seccomp.unwrap().profile_type(),
            ProfileType::RuntimeDefault
        );
    }
}

#[test]
fn security_context_and_sysctls() {
    let context = json!({
        "runAsUser": 5, "runAsGroup": 6, "fsGroup": 7, "supplementalGroups": [8, 9],
        "supplementalGroupsPolicy": "Strict",
        "seLinuxOptions": {"level": "s0:c1"},
        "sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}],
    });
    let linux = build(json!({"securityContext": context}))
        .unwrap()
        .linux
        .unwrap();
    assert_eq!(linux.sysctls.get("net.ipv4.tcp_syncookies").unwrap(), "1");
    let security = linux.security_context.unwrap();
    assert_eq!(security.run_as_user.unwrap().value, 5);
    assert_eq!(security.run_as_group.unwrap().value, 6);
    assert_eq!(security.supplemental_groups, [7, 8, 9]);
    assert_eq!(
        security.supplemental_groups_policy,
        i32::from(SupplementalGroupsPolicy::Strict)
    );
    assert_eq!(security.selinux_options.unwrap().level, "s0:c1");
    let alone = build(json!({"securityContext": {"runAsGroup": 6}}))
        .unwrap()
        .linux
        .unwrap();
    assert_eq!(alone.security_context.unwrap().run_as_group, None);
}

#[test]
fn what_is_not_there_is_refused() {
    for (spec, text) in [
        (
            json!({"runtimeClassName": "kata"}),
            "spec.runtimeClassName \"kata\" is not known",
        ),
        (
            json!({"hostUsers": false}),
            "spec.hostUsers: false (user namespaces) is not supported",
        ),
        (
            json!({"securityContext": {"supplementalGroupsPolicy": "Mine"}}),
            "allowed are Merge and Strict",
        ),
    ] {
        let error = Scene::error(build(spec));
        assert!(error.contains(text), "{error}");
    }
}
