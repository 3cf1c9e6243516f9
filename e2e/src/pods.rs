//! Manifests for scenarios, as JSON, which every YAML reader takes.

use serde_json::{Value, json};

use crate::agent::HOSTNAME;
use crate::images::BUSYBOX;

/// A shell line that stays until SIGTERM and then ends at once with code 0.
pub const STAY: &str = "trap 'exit 0' TERM; while :; do sleep 3600 & wait; done";

/// A pod with this spec, in the namespace `default`. Where the spec does not say otherwise a container that ignores
/// SIGTERM is killed after 2 s, so that no scenario waits for the usual 30.
pub fn pod(name: &str, mut spec: Value) -> String {
    if let Some(spec) = spec.as_object_mut() {
        spec.entry("terminationGracePeriodSeconds")
            .or_insert(json!(2));
    }
    let metadata = json!({ "name": name, "namespace": "default" });
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec }).to_string()
}

/// A container of the test image that runs a shell line; `more` is added to it.
pub fn container(name: &str, line: &str, more: Value) -> Value {
    let mut container =
        json!({ "name": name, "image": BUSYBOX, "command": ["/bin/sh", "-c", line] });
    if let (Some(container), Value::Object(more)) = (container.as_object_mut(), more) {
        container.extend(more);
    }
    container
}

/// A pod of one container `main` that stays and has this many GPUs.
pub fn staying(name: &str, gpus: u32) -> String {
    pod(
        name,
        json!({ "containers": [container("main", STAY, gpu_limit(gpus))] }),
    )
}

/// The part of a container that asks for GPUs; nothing for 0.
pub fn gpu_limit(gpus: u32) -> Value {
    if gpus == 0 {
        json!({})
    } else {
        json!({ "resources": { "limits": { "nvidia.com/gpu": gpus } } })
    }
}

/// The name under which the agent runs the static pod `name`.
pub fn full_name(name: &str) -> String {
    format!("{name}-{HOSTNAME}")
}
