//! Pods that the node does not let in.

use e2e::{STAY, container};
use serde_json::{Value, json};

use super::row::Row;
use super::{PORT, bound, staying};

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::rejected(
            "cpu",
            bound(asking("cpu", "1000")),
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 1000000, used: ",
        ),
        Row::rejected(
            "memory",
            bound(asking("memory", "1Pi")),
            "OutOfmemory",
            "Node didn't have enough resource: memory, requested: 1125899906842624, used: ",
        ),
        Row::rejected(
            "disk",
            bound(asking("ephemeral-storage", "1Pi")),
            "OutOfephemeral-storage",
            "Node didn't have enough resource: ephemeral-storage, requested: 1125899906842624",
        ),
        Row::rejected(
            "selector",
            bound(with("nodeSelector", json!({ "disk": "tape" }))),
            "NodeAffinity",
            "Predicate NodeAffinity failed",
        ),
        Row::rejected(
            "affinity",
            bound(with("affinity", needing("disk", "tape"))),
            "NodeAffinity",
            "Predicate NodeAffinity failed",
        ),
        Row::rejected(
            "port",
            bound(containers(
                json!({ "ports": [{ "containerPort": 80, "hostPort": PORT }] }),
            )),
            "NodePorts",
            "Predicate NodePorts failed",
        ),
        Row::rejected(
            "sysctl",
            bound(with("securityContext", sysctl("kernel.msgmax", "65536"))),
            "SysctlForbidden",
            "forbidden sysctl: \"kernel.msgmax\" not allowlisted",
        ),
        Row::rejected(
            "windows",
            bound(with("os", json!({ "name": "windows" }))),
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS",
        ),
        Row::rejected(
            "apparmor",
            bound(with(
                "securityContext",
                json!({ "appArmorProfile": { "type": "RuntimeDefault" } }),
            )),
            "AppArmor",
            "Cannot enforce AppArmor",
        ),
    ]
}

fn asking(resource: &str, quantity: &str) -> Value {
    containers(json!({ "resources": { "requests": { (resource): quantity } } }))
}

fn containers(more: Value) -> Value {
    json!({ "containers": [container("main", STAY, more)] })
}

fn with(field: &str, value: Value) -> Value {
    let mut spec = staying();
    spec[field] = value;
    spec
}

fn needing(key: &str, value: &str) -> Value {
    let expression = json!({ "key": key, "operator": "In", "values": [value] });
    let term = json!({ "matchExpressions": [expression] });
    let needed = json!({ "nodeSelectorTerms": [term] });
    json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": needed } })
}

fn sysctl(name: &str, value: &str) -> Value {
    json!({ "sysctls": [{ "name": name, "value": value }] })
}
