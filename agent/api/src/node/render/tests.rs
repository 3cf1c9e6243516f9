#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::node::testing::{facts, flags, settings, settings_with};

fn reasons(rendered: &Rendered) -> Vec<&'static str> {
    rendered.events.iter().map(|event| event.reason).collect()
}

#[test]
fn a_new_object_has_every_field() {
    let mut flags = flags();
    flags.node_labels = [("pool".to_owned(), "gpu".to_owned())].into();
    flags.register_with_taints = vec!["a=b:NoSchedule".to_owned(), "c:NoExecute".to_owned()];
    let settings = settings_with(&flags, |configuration| {
        configuration.node.provider_id = "cloud://1".to_owned();
    });
    let node = serde_json::to_value(initial(&settings, &facts()).node).unwrap();
    let metadata = json!({
        "name": "n1",
        "labels": {
            "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": "n1", "kubernetes.io/os": "linux",
            "pool": "gpu",
        },
        "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
    });
    assert_eq!(node["metadata"], metadata);
    let spec = json!({
        "providerID": "cloud://1",
        "taints": [
            {"key": "a", "value": "b", "effect": "NoSchedule"},
            {"key": "c", "effect": "NoExecute"},
        ],
    });
    assert_eq!(node["spec"], spec);
    let status = json!({
        "addresses": [
            {"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "n1"},
        ],
        "capacity": {
            "cpu": "2", "ephemeral-storage": "100G", "hugepages-2Mi": "0", "memory": "4Gi", "pods": "110",
        },
        "allocatable": {
            "cpu": "2", "ephemeral-storage": "89999999851", "hugepages-2Mi": "0", "memory": "3996Mi",
            "pods": "110",
        },
        "conditions": node["status"]["conditions"],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "declaredFeatures": ["RestartAllContainersOnContainerExits"],
        "features": {"supplementalGroupsPolicy": true},
        "runtimeHandlers": [
            {"name": "", "features": {"recursiveReadOnlyMounts": true, "userNamespaces": false}},
        ],
        "nodeInfo": {
            "machineID": "machine", "systemUUID": "uuid", "bootID": "boot", "kernelVersion": "6.1.0",
            "osImage": "Test OS", "containerRuntimeVersion": "containerd://2.1.9",
            "kubeletVersion": "v1.37.2+gpulet.test", "kubeProxyVersion": "", "operatingSystem": "linux",
            "architecture": "amd64", "runningInUserNamespace": false,
        },
    });
    assert_eq!(node["status"], status);
    let conditions = node["status"]["conditions"].as_array().unwrap();
    let states: Vec<Value> = conditions
        .iter()
        .map(|condition| json!([condition["type"], condition["status"], condition["reason"]]))
        .collect();
    let expected = json!([
        ["MemoryPressure", "False", "KubeletHasSufficientMemory"],
        ["DiskPressure", "False", "KubeletHasNoDiskPressure"],
        ["PIDPressure", "False", "KubeletHasSufficientPID"],
        ["Ready", "True", "KubeletReady"],
    ]);
    assert_eq!(Value::Array(states), expected);
}

#[test]
fn an_external_provider_initializes_the_node() {
    let mut flags = flags();
    flags.external_cloud_provider = true;
    let node = initial(&settings_with(&flags, |_| {}), &facts()).node;
    let taints = node.spec.unwrap().taints.unwrap();
    assert_eq!(
        taints[0].key,
        "node.cloudprovider.kubernetes.io/uninitialized"
    );
    assert_eq!(taints[0].value.as_deref(), Some("true"));
    let annotations = node.metadata.annotations.unwrap();
    assert_eq!(
        annotations["alpha.kubernetes.io/provided-node-ip"],
        "10.0.0.1"
    );
}

#[test]
fn an_object_that_is_there_keeps_what_is_not_ours() {
    let old: Node = serde_json::from_value(json!({
        "metadata": {
            "name": "n1",
            "labels": {"mine": "kept", "kubernetes.io/hostname": "other"},
            "annotations": {"alpha.kubernetes.io/provided-node-ip": "10.0.0.9", "mine": "kept"},
        },
        "spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "7"},
            "volumesInUse": ["v"], "volumesAttached": [{"name": "v", "devicePath": ""}],
            "declaredFeatures": ["ExtendWebSocketsToKubelet"],
            "nodeInfo": {
                "bootID": "before", "kubeProxyVersion": "v1.30.0", "architecture": "", "kernelVersion": "",
                "containerRuntimeVersion": "", "kubeletVersion": "", "machineID": "", "operatingSystem": "",
                "osImage": "", "systemUUID": "",
            },
        },
    }))
    .unwrap();
    let rendered = adopted(&old, &settings(), &facts());
    assert!(reasons(&rendered).contains(&"Rebooted"));
    let node = &rendered.node;
    assert_eq!(node.spec, old.spec, "taints are for new objects only");
    let labels = node.metadata.labels.as_ref().unwrap();
    assert_eq!(
        (
            labels["mine"].as_str(),
            labels["kubernetes.io/hostname"].as_str()
        ),
        ("kept", "n1")
    );
    let annotations = node.metadata.annotations.as_ref().unwrap();
    assert!(annotations.contains_key("mine"));
    assert!(!annotations.contains_key("alpha.kubernetes.io/provided-node-ip"));
    let status = node.status.as_ref().unwrap();
    assert_eq!(status.capacity.as_ref().unwrap()["nvidia.com/gpu"].0, "8");
    assert_eq!(
        status.allocatable.as_ref().unwrap()["nvidia.com/gpu"].0,
        "7"
    );
    assert_eq!(
        status.volumes_in_use.as_deref(),
        Some(&["v".to_owned()][..])
    );
    assert!(status.volumes_attached.is_some());
    assert_eq!(
        status.declared_features,
        Some(vec!["RestartAllContainersOnContainerExits".to_owned()]),
        "another agent's word does not bind this one"
    );
    assert_eq!(status.node_info.as_ref().unwrap().kube_proxy_version, "");
    let mut fresh = flags();
    fresh.fresh = true;
    let node = adopted(&old, &settings_with(&fresh, |_| {}), &facts()).node;
    let status = node.status.unwrap();
    assert_eq!(
        status.capacity.unwrap()["nvidia.com/gpu"].0,
        "0",
        "this host never had them"
    );
}

#[test]
fn what_is_not_known_stays_as_it_was() {
    let mut facts = facts();
    facts.images = Some(Arc::new(vec![agent_loops::ports::ListedImage {
        id: "1".to_owned(),
        names: vec!["image:1".to_owned()],
        size: 7,
    }]));
    let first = initial(&settings(), &facts).node;
    facts.images = None;
    facts.runtime = None;
    facts.machine.local.clear();
    let second = present(&first, &settings(), &facts);
    assert!(second.no_address.unwrap().contains("no interface"));
    assert!(!differ(&first, &second.node));
    assert!(second.events.is_empty());
}

#[test]
fn only_a_heartbeat_is_no_difference() {
    let mut facts = facts();
    let first = initial(&settings(), &facts).node;
    facts.now = facts.now.plus(std::time::Duration::from_secs(10));
    let second = present(&first, &settings(), &facts).node;
    assert!(first != second && !differ(&first, &second));
    facts.unready = vec!["container runtime is down".to_owned()];
    let third = present(&second, &settings(), &facts);
    assert!(differ(&second, &third.node));
    assert_eq!(reasons(&third), ["NodeNotReady"]);
}

#[test]
fn a_machine_that_cannot_be_measured_is_not_ready() {
    let mut facts = facts();
    facts.machine.ephemeral_storage = None;
    let node = initial(&settings(), &facts).node;
    let conditions = node.status.unwrap().conditions.unwrap();
    let message = conditions[3].message.as_deref();
    assert_eq!(
        message,
        Some("missing node capacity for resources: ephemeral-storage")
    );
}
