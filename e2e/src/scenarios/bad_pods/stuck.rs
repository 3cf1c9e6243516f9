//! Pods that the node lets in and cannot start, or has to end.

use e2e::{BUSYBOX, STAY, container};
use serde_json::{Value, json};

use super::row::Row;
use super::{SILENT, staying, waiting};

const CREATING: (&str, &str) = ("Pending", "ContainerCreating");
const UNCONFIGURED: (&str, &str) = ("Pending", "CreateContainerConfigError");
const UNCREATED: (&str, &str) = ("Pending", "CreateContainerError");
/// More than the kernel takes in one variable (128 KiB), and less than what the API server takes in one object (3 MiB).
const GIANT: usize = 1 << 20;

pub(super) fn rows() -> Vec<Row> {
    let mut rows = sandboxes_and_volumes();
    rows.extend(configuration());
    rows.extend(images());
    rows.extend(starts());
    rows
}

fn sandboxes_and_volumes() -> Vec<Row> {
    let mut unhandled = staying();
    unhandled["runtimeClassName"] = json!("handler-less");
    let mut user_namespace = staying();
    user_namespace["hostUsers"] = json!(false);
    vec![
        Row::waits(
            "unhandled",
            unhandled,
            CREATING,
            "FailedCreatePodSandBox",
            "no runtime for \"nosuch\" is configured",
        ),
        // This machine's runc cannot map the ids of mounts.
        Row::waits(
            "user-namespace",
            user_namespace,
            CREATING,
            "FailedCreatePodSandBox",
            "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
        ),
        Row::waits(
            "no-map",
            waiting(),
            CREATING,
            "FailedMount",
            "configmap \"never\" not found",
        ),
        Row::waits(
            "no-path",
            mounted(
                json!({ "hostPath": { "path": "/no/such/file", "type": "File" } }),
                json!({}),
            ),
            CREATING,
            "FailedMount",
            "hostPath type check failed",
        ),
    ]
}

fn configuration() -> Vec<Row> {
    let from = |key: Value| json!({ "env": [{ "name": "WORD", "valueFrom": key }] });
    let unexpanded = json!({ "subPathExpr": "$(NOWHERE)" });
    let mut escaping = mounted(json!({ "emptyDir": {} }), json!({ "subPath": "link/etc" }));
    let mount = json!({ "volumeMounts": [{ "name": "data", "mountPath": "/data" }] });
    escaping["initContainers"] = json!([container("linker", "ln -s / /data/link", mount)]);
    vec![
        Row::waits(
            "no-secret",
            one(from(
                json!({ "secretKeyRef": { "name": "never", "key": "word" } }),
            )),
            UNCONFIGURED,
            "Failed",
            "Error: secret \"never\" not found",
        ),
        Row::waits(
            "no-key",
            one(from(
                json!({ "configMapKeyRef": { "name": "kube-root-ca.crt", "key": "word" } }),
            )),
            UNCONFIGURED,
            "Failed",
            "Error: couldn't find key word in ConfigMap default/kube-root-ca.crt",
        ),
        Row::waits(
            "no-env-map",
            one(json!({ "envFrom": [{ "configMapRef": { "name": "never" } }] })),
            UNCONFIGURED,
            "Failed",
            "Error: configmap \"never\" not found",
        ),
        Row::waits(
            "sub-path",
            mounted(json!({ "emptyDir": {} }), unexpanded),
            UNCONFIGURED,
            "Failed",
            "Error: missing value for NOWHERE",
        ),
        Row::waits(
            "escaping",
            escaping,
            UNCONFIGURED,
            "Failed",
            "Error: failed to prepare subPath for volumeMount \"data\" of container \"main\"",
        ),
        Row::waits(
            "root",
            one(json!({ "securityContext": { "runAsNonRoot": true } })),
            UNCONFIGURED,
            "Failed",
            "Error: container has runAsNonRoot and image will run as root",
        ),
        Row::waits(
            "profile",
            one(json!({ "securityContext": {
                "seccompProfile": { "type": "Localhost", "localhostProfile": "never.json" },
            } })),
            UNCREATED,
            "Failed",
            "seccomp",
        ),
    ]
}

fn images() -> Vec<Row> {
    let image =
        |image: &str, policy: &str| one(json!({ "image": image, "imagePullPolicy": policy }));
    let silent = json!({ "containers": [{ "name": "main", "image": SILENT }] });
    vec![
        Row::waits(
            "silent",
            silent,
            UNCREATED,
            "Failed",
            "no command specified",
        ),
        Row::waits(
            "image-name",
            image("UPPER/CASE", "IfNotPresent"),
            ("Pending", "InvalidImageName"),
            "InspectFailed",
            "Failed to apply default image tag \"UPPER/CASE\"",
        ),
        Row::waits(
            "never-pulled",
            image("localhost/absent:1", "Never"),
            ("Pending", "ErrImageNeverPull"),
            "ErrImageNeverPull",
            "Container image \"localhost/absent:1\" is not present with pull policy of Never",
        ),
        Row::waits(
            "unreachable",
            image("127.0.0.1:9/absent:1", "IfNotPresent"),
            ("Pending", "ImagePullBackOff"),
            "BackOff",
            "Back-off pulling image \"127.0.0.1:9/absent:1\"",
        ),
    ]
}

fn starts() -> Vec<Row> {
    let command = |command: &str, policy: &str| {
        let main = json!({ "name": "main", "image": BUSYBOX, "command": [command] });
        json!({ "containers": [main], "restartPolicy": policy })
    };
    let mut giant = one(json!({ "env": [{ "name": "GIANT", "value": "x".repeat(GIANT) }] }));
    giant["restartPolicy"] = json!("Never");
    let mut hurried = staying();
    hurried["activeDeadlineSeconds"] = json!(1);
    vec![
        Row::fails(
            "no-command",
            command("/no/such", "Never"),
            ("StartError", 128),
            "Failed",
            "exec: \"/no/such\": stat /no/such: no such file or directory",
        ),
        Row::waits(
            "no-command-again",
            command("/no/such", "Always"),
            ("Running", "CrashLoopBackOff"),
            "BackOff",
            "Back-off restarting failed container main in pod no-command-again_default",
        ),
        Row::fails(
            "no-program",
            command("/etc/passwd", "Never"),
            ("StartError", 128),
            "Failed",
            "permission denied",
        ),
        // runc's own process in the container ends with it, so the container counts as started.
        Row::fails("giant", giant, ("Error", 1), "Started", "Container started"),
        Row::stopped(
            "hurried",
            hurried,
            "DeadlineExceeded",
            "Pod was active on the node longer than the specified deadline",
        ),
    ]
}

fn one(more: Value) -> Value {
    json!({ "containers": [container("main", STAY, more)] })
}

/// A pod with this volume at /data, mounted so.
fn mounted(volume: Value, how: Value) -> Value {
    let mut mount = json!({ "name": "data", "mountPath": "/data" });
    let mut data = json!({ "name": "data" });
    for (whole, part) in [(&mut mount, how), (&mut data, volume)] {
        if let (Some(whole), Value::Object(part)) = (whole.as_object_mut(), part) {
            whole.extend(part);
        }
    }
    let mut spec = one(json!({ "volumeMounts": [mount] }));
    spec["volumes"] = json!([data]);
    spec
}
