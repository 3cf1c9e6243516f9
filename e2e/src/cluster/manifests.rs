//! Objects that many scenarios make and look at, as JSON.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::pods::{STAY, container};

/// A pod for the API server: as `pods::pod`, but as an object.
pub fn api_pod(name: &str, mut spec: Value) -> Value {
    quick(&mut spec);
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata(name), "spec": spec })
}

/// A Deployment of pods with the label `app: <name>` and this spec.
pub fn deployment(name: &str, replicas: u32, pod: Value) -> Value {
    labelled(
        "apps/v1",
        "Deployment",
        name,
        json!({ "replicas": replicas }),
        pod,
    )
}

/// Any object with a selector and a template of pods with the label `app: <name>`: `spec` is the rest of its spec, `pod`
/// the template's.
pub fn labelled(version: &str, kind: &str, name: &str, mut spec: Value, mut pod: Value) -> Value {
    quick(&mut pod);
    let labels = json!({ "app": name });
    spec["selector"] = json!({ "matchLabels": labels });
    spec["template"] = json!({ "metadata": { "labels": labels }, "spec": pod });
    json!({ "apiVersion": version, "kind": kind, "metadata": metadata(name), "spec": spec })
}

/// Metadata with a name in the namespace `default`.
pub fn metadata(name: &str) -> Value {
    json!({ "name": name, "namespace": "default" })
}

/// One container `main` that stays until SIGTERM.
pub fn staying_containers() -> Value {
    json!([container("main", STAY, json!({}))])
}

/// Whether the object's status has this condition.
pub fn condition(object: &Value, kind: &str, status: &str) -> Result<()> {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|one| one["type"] == kind);
    let found = found.with_context(|| format!("no condition {kind}"))?;
    ensure!(found["status"] == status, "{kind} is not {status}: {found}");
    Ok(())
}

/// Whether the controller has seen the newest spec of a Deployment or StatefulSet, and exactly `count` replicas are
/// there, updated and ready.
pub fn ensure_ready(object: &Value, count: u32) -> Result<()> {
    let status = &object["status"];
    ensure!(
        status["observedGeneration"] == object["metadata"]["generation"],
        "the controller has not seen it"
    );
    for field in ["replicas", "updatedReplicas", "readyReplicas"] {
        let is = status[field].as_u64().unwrap_or_default();
        ensure!(is == u64::from(count), "{field} is {is}, not {count}");
    }
    Ok(())
}

/// No scenario waits for the usual 30 s where a container ignores SIGTERM.
fn quick(spec: &mut Value) {
    if let Some(spec) = spec.as_object_mut() {
        spec.entry("terminationGracePeriodSeconds")
            .or_insert(json!(2));
    }
}
