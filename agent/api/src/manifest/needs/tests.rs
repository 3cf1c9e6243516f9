#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;

fn of(pod: &Value) -> Needs {
    needs(&serde_json::from_value(pod.clone()).unwrap())
}

fn requests(spec: &Value) -> String {
    let needs = of(&json!({"spec": spec}));
    let list: Vec<String> = needs
        .requests
        .iter()
        .map(|(name, amount)| format!("{name}={amount}"))
        .collect();
    list.join(" ")
}

fn container(name: &str, requests: &Value) -> Value {
    json!({"name": name, "resources": {"requests": requests}})
}

fn sidecar(name: &str, requests: &Value) -> Value {
    json!({"name": name, "restartPolicy": "Always", "resources": {"requests": requests}})
}

#[test]
fn requests_are_those_of_the_greatest_moment() {
    let main = || container("m", &json!({"cpu": "1", "memory": "100Mi"}));
    assert_eq!(
        requests(&json!({"containers": [main(), main()]})),
        "cpu=2 memory=200Mi"
    );
    let init = container("i", &json!({"cpu": "3", "nvidia.com/gpu": "1"}));
    assert_eq!(
        requests(&json!({"initContainers": [init], "containers": [main()]})),
        "cpu=3 memory=100Mi nvidia.com/gpu=1"
    );
    // The sidecar runs beside both: 2+1 and 2+3. An init container before it is alone.
    let side = sidecar("s", &json!({"cpu": "2"}));
    let spec = json!({"initContainers": [side, init], "containers": [main()]});
    assert!(requests(&spec).starts_with("cpu=5 "));
    let spec = json!({"initContainers": [init, side], "containers": [main()]});
    assert!(requests(&spec).starts_with("cpu=3 "));
}

#[test]
fn resources_of_the_pod_outrank_and_overhead_adds() {
    let spec = json!({
        "containers": [container("m", &json!({"cpu": "1", "ephemeral-storage": "1Gi"}))],
        "resources": {"requests": {"cpu": "4", "ephemeral-storage": "9Gi"}},
        "overhead": {"cpu": "250m", "memory": "64Mi"},
    });
    assert_eq!(
        requests(&spec),
        "cpu=4250m ephemeral-storage=1Gi memory=64Mi"
    );
    assert!(of(&json!({"spec": spec})).pod_level_resources);
    assert!(!of(&json!({"spec": {"containers": []}})).pod_level_resources);
}

#[test]
fn a_resource_from_a_claim_is_not_counted() {
    let pod = json!({
        "spec": {"containers": [
            container("a", &json!({"nvidia.com/gpu": "1"})),
            container("b", &json!({"nvidia.com/gpu": "2"})),
        ]},
        "status": {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": [
            {"containerName": "b", "requestName": "r", "resourceName": "nvidia.com/gpu"},
        ]}},
    });
    let amounts: Vec<i64> = of(&pod)
        .requests
        .values()
        .map(|each| each.value())
        .collect();
    assert_eq!(amounts, [1]);
}

#[test]
fn ports_of_init_containers_that_end_are_free_again() {
    let port = |port: i32| json!([{"containerPort": 1, "hostPort": port, "protocol": "UDP"}]);
    let pod = json!({"spec": {
        "initContainers": [
            {"name": "i", "ports": port(1)},
            {"name": "s", "restartPolicy": "Always", "ports": port(2)},
        ],
        "containers": [{"name": "m", "ports": port(3)}, {"name": "n", "ports": port(0)}],
    }});
    let ports: Vec<i32> = of(&pod).host_ports.iter().map(|each| each.port).collect();
    assert_eq!(ports, [2, 3]);
}

#[test]
fn static_and_system_pods_are_critical() {
    let annotated = |name: &str, value: &str| {
        let needs =
            of(&json!({"metadata": {"annotations": {name: value}}, "spec": {"containers": []}}));
        (needs.is_static, needs.is_critical)
    };
    assert_eq!(
        annotated("kubernetes.io/config.source", "file"),
        (true, true)
    );
    assert_eq!(
        annotated("kubernetes.io/config.source", "api"),
        (false, false)
    );
    assert_eq!(annotated("kubernetes.io/config.mirror", "x"), (false, true));
    let priority =
        |priority: i64| of(&json!({"spec": {"containers": [], "priority": priority}})).is_critical;
    assert!(priority(2_000_000_000) && !priority(1_999_999_999));
}

#[test]
fn affinity_tolerations_and_sysctls_are_taken_over() {
    let needs = of(
        &json!({"metadata": {"labels": {"kubernetes.io/os": "linux"}}, "spec": {
            "containers": [],
            "nodeName": "n1",
            "os": {"name": "linux"},
            "hostIPC": true,
            "hostUsers": false,
            "nodeSelector": {"a": "b"},
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{
                    "matchExpressions": [{"key": "k", "operator": "Gt", "values": ["1"]}],
                    "matchFields": [{"key": "metadata.name", "operator": "Near"}],
                }],
            }}},
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {
                "supplementalGroupsPolicy": "Strict",
                "sysctls": [{"name": "kernel.sem", "value": "1"}],
            },
        }}),
    );
    let term = &needs.affinity.terms.as_ref().unwrap()[0];
    assert_eq!(term.labels[0].operator, Operator::Gt);
    assert_eq!(term.fields[0].operator, Operator::Unknown);
    assert_eq!(needs.affinity.selector["a"], "b");
    assert_eq!(needs.tolerations[0].operator, "Exists");
    assert_eq!(needs.sysctls.names, ["kernel.sem"]);
    assert!(needs.sysctls.host_ipc && !needs.sysctls.host_users);
    assert!(needs.strict_groups);
    assert_eq!(
        (needs.os.as_deref(), needs.os_label.as_deref()),
        (Some("linux"), Some("linux"))
    );
    assert_eq!(needs.node_name, "n1");
}

#[test]
fn app_armor_matters_before_the_first_run() {
    let spec = json!({"containers": [
        {"name": "m", "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}},
    ]});
    assert!(of(&json!({"spec": spec})).app_armor);
    assert!(of(&json!({"spec": spec, "status": {"phase": "Pending"}})).app_armor);
    assert!(!of(&json!({"spec": spec, "status": {"phase": "Running"}})).app_armor);
    let unconfined = json!({"containers": [],
        "securityContext": {"appArmorProfile": {"type": "Unconfined"}}});
    assert!(!of(&json!({"spec": unconfined})).app_armor);
}

#[test]
fn features_are_inferred() {
    let features = |spec: &Value| {
        let set = of(&json!({"spec": spec})).features;
        set.into_iter().collect::<Vec<_>>()
    };
    assert!(features(&json!({"containers": [{"name": "m"}], "hostNetwork": true})).is_empty());
    let spec = json!({
        "hostNetwork": true,
        "hostUsers": false,
        "initContainers": [{"name": "i", "volumeMounts": [
            {"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]},
        ]}],
        "containers": [{"name": "m", "restartPolicyRules": [{"action": "RestartAllContainers"}]}],
    });
    assert_eq!(
        features(&spec),
        [
            "RestartAllContainersOnContainerExits",
            "UserNamespacesHostNetworkSupport",
            "VolumeBindMountOptions"
        ]
    );
}
