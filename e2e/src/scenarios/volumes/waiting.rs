//! Pods whose objects, or keys in them, are not there yet: they wait, say why, and start when it comes.

use anyhow::{Result, ensure};
use e2e::{Cluster, POD, STAY, api_pod, container, metadata};
use serde_json::{Value, json};

use super::ensure_inside;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    objects.apply(&object("Secret", "half", "other")).await?;
    let items = json!([{ "key": "key", "path": "key" }]);
    let cases = [
        (
            "no-secret",
            json!({ "secret": { "secretName": "late" } }),
            "secret \"late\" not found",
        ),
        (
            "no-map",
            json!({ "configMap": { "name": "late" } }),
            "configmap \"late\" not found",
        ),
        (
            "no-key",
            json!({ "secret": { "secretName": "half", "items": items } }),
            "references non-existent secret key: key",
        ),
        (
            "no-source",
            json!({ "projected": { "sources": [{ "configMap": { "name": "late", "items": items } }] } }),
            "configmap \"late\" not found",
        ),
    ];
    for (name, source, _) in &cases {
        let mut volume = json!({ "name": "awaited" });
        for (kind, how) in source.as_object().into_iter().flatten() {
            volume[kind] = how.clone();
        }
        let mounts = json!([{ "name": "awaited", "mountPath": "/awaited" }]);
        let spec = json!({
            "volumes": [volume],
            "containers": [container("main", STAY, json!({ "volumeMounts": mounts }))],
        });
        objects.apply(&api_pod(name, spec)).await?;
    }
    for (name, _, why) in &cases {
        let text = format!("MountVolume.SetUp failed for volume \"awaited\" : {why}");
        objects.told(name, "FailedMount", &text).await?;
        objects
            .until(POD, name, |pod| {
                ensure!(pod["status"]["phase"] == "Pending", "{}", pod["status"]);
                let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
                ensure!(waiting["reason"] == "ContainerCreating", "{waiting}");
                Ok(())
            })
            .await?;
    }
    for (kind, name) in [
        ("Secret", "late"),
        ("ConfigMap", "late"),
        ("Secret", "half"),
    ] {
        objects.apply(&object(kind, name, "key")).await?;
    }
    for (name, ..) in &cases {
        objects.ready(name).await?;
        ensure_inside(cluster, name, "cat /awaited/key", "come\n").await?;
    }
    Ok(())
}

fn object(kind: &str, name: &str, key: &str) -> Value {
    let field = if kind == "Secret" {
        "stringData"
    } else {
        "data"
    };
    json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata(name), (field): { (key): "come\n" } })
}
