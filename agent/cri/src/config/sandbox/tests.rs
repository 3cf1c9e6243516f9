#![allow(clippy::unwrap_used)]

use agent_core::{Fail, FailKind};
use agent_loops::ports::IdRange;
use proto::cri::security_profile::ProfileType;
use proto::cri::{NamespaceMode, PodSandboxConfig, SupplementalGroupsPolicy};
use serde_json::{Value, json};

use super::super::error::ConfigError;
use super::super::testing::Scene;
use super::{runtime_handler, sandbox_config, wants_user_namespace};

fn build(spec: Value) -> Result<PodSandboxConfig, ConfigError> {
    let scene = Scene::new(spec);
    sandbox_config(&scene.sandbox_spec(), &scene.node)
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
fn a_user_namespace_needs_its_range() {
    for spec in [json!({}), json!({"hostUsers": true})] {
        let scene = Scene::new(spec);
        assert!(!wants_user_namespace(&scene.sandbox_spec()));
        let security = sandbox_config(&scene.sandbox_spec(), &scene.node).unwrap();
        let security = security.linux.unwrap().security_context.unwrap();
        let users = security.namespace_options.unwrap().userns_options.unwrap();
        assert_eq!((users.mode(), users.uids.len()), (NamespaceMode::Node, 0));
    }
    let mut scene = Scene::new(json!({"hostUsers": false}));
    assert!(wants_user_namespace(&scene.sandbox_spec()));
    let error = Scene::error(sandbox_config(&scene.sandbox_spec(), &scene.node));
    assert!(error.contains("no range of IDs"), "{error}");
    scene.prepared.user_namespace = Some(IdRange {
        first: 131_072,
        length: 65_536,
    });
    let config = sandbox_config(&scene.sandbox_spec(), &scene.node).unwrap();
    let security = config.linux.unwrap().security_context.unwrap();
    let users = security.namespace_options.unwrap().userns_options.unwrap();
    assert_eq!(users.mode(), NamespaceMode::Pod);
    for ids in [&users.uids, &users.gids] {
        let ids: Vec<_> = ids
            .iter()
            .map(|id| (id.host_id, id.container_id, id.length))
            .collect();
        assert_eq!(ids, [(131_072, 0, 65_536)]);
    }
    for (handler, text) in [
        (
            "",
            "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
        ),
        (
            "vm",
            "can't set `spec.hostUsers: false`, RuntimeClass handler \"vm\" does not support user namespaces",
        ),
    ] {
        let error = ConfigError::UserNamespaceSupport(handler.to_owned());
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn handlers_of_runtime_classes() {
    let not_found = || Fail::retry("X", "RuntimeClass \"vm\" not found");
    for (class, known, expected) in [
        (None, None, Ok("")),
        (Some(""), None, Ok("")),
        (Some("vm"), Some(Ok("kata".to_owned())), Ok("kata")),
        (Some("vm"), Some(Ok(String::new())), Ok("")),
        (
            Some("vm"),
            Some(Err(not_found())),
            Err((FailKind::Retry, "RuntimeClass \"vm\" not found")),
        ),
        (
            Some("vm"),
            None,
            Err((
                FailKind::Permanent,
                "spec.runtimeClassName \"vm\" is not known: \
            runtime classes come from an API server, which this node does not have",
            )),
        ),
    ] {
        let mut scene = Scene::new(json!({"runtimeClassName": class}));
        scene.references.runtime_handler = known;
        let handler = runtime_handler(&scene.sandbox_spec());
        let handler = handler.map_err(|error| error.fail_sandbox());
        let expected = expected.map(str::to_owned);
        assert_eq!(
            handler.map_err(|fail| (fail.kind, fail.message)),
            expected.map_err(|(kind, text)| (kind, text.to_owned())),
        );
    }
}

#[test]
fn groups_of_bound_volumes() {
    let mut scene = Scene::new(json!({"securityContext": {"supplementalGroups": [8]}}));
    let volume = |group: &str| {
        let volume = json!({"metadata": {"annotations": {"pv.beta.kubernetes.io/gid": group}}});
        Ok(std::sync::Arc::new(serde_json::from_value(volume).unwrap()))
    };
    for (name, group) in [("a", "7"), ("b", "8"), ("c", "none")] {
        scene
            .references
            .claims
            .insert(name.to_owned(), volume(group));
    }
    let config = sandbox_config(&scene.sandbox_spec(), &scene.node).unwrap();
    let security = config.linux.unwrap().security_context.unwrap();
    assert_eq!(security.supplemental_groups, [7, 8]);
}

#[test]
fn resources_and_overhead() {
    let linux = build(json!({
        "overhead": {"cpu": "250m"},
        "containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Mi"}}}],
    }));
    let linux = linux.unwrap().linux.unwrap();
    assert_eq!(linux.overhead.unwrap().cpu_shares, 256);
    let resources = linux.resources.unwrap();
    assert_eq!(
        (resources.cpu_shares, resources.memory_limit_in_bytes),
        (1024, 1 << 20)
    );
}

#[test]
fn what_is_not_known_is_refused() {
    let context = json!({"securityContext": {"supplementalGroupsPolicy": "Mine"}});
    let error = Scene::error(build(context));
    assert!(error.contains("allowed are Merge and Strict"), "{error}");
}
