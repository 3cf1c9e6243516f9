//! secret, configMap and downwardAPI volumes: items, modes, what is optional, and single files by sub-path.

use anyhow::Result;
use e2e::{Cluster, STAY, api_pod, container, metadata};
use serde_json::{Value, json};

use super::ensure_inside;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata("keys"),
        "stringData": { "one": "1\n", "two": "22\n" },
    });
    objects.apply(&secret).await?;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("settings"),
        "data": { "text": "plain\n", "other": "more\n" }, "binaryData": { "bytes": "AAEC" },
    });
    objects.apply(&map).await?;
    objects.apply(&pod()).await?;
    objects.ready("files").await?;
    for (line, expected) in [
        ("cat /secret/one /secret/two", "1\n22\n"),
        ("stat -Lc %a:%u:%g /secret/one", "400:0:0\n"),
        // What is shown is a link to a link, so that all files change at once.
        ("readlink /secret/one", "..data/one\n"),
        ("stat -c %a /secret", "1777\n"),
        (
            "touch /secret/new 2>/dev/null || echo read-only",
            "read-only\n",
        ),
        ("cat /chosen/deep/er/first /chosen/second", "1\n22\n"),
        (
            "stat -Lc %a /chosen/deep/er/first /chosen/second",
            "440\n644\n",
        ),
        ("ls /chosen", "deep\nsecond\n"),
        ("cat /map/text /map/other", "plain\nmore\n"),
        ("stat -Lc %a:%s /map/bytes", "644:3\n"),
        ("ls /no-secret /no-map", "/no-map:\n\n/no-secret:\n"),
        ("ls /no-key", "here\n"),
        (
            "cat /downward/name; echo; cat /downward/namespace",
            "files\ndefault",
        ),
        (
            "cat /downward/labels; echo; cat /downward/label",
            "app=\"files\"\ntier=\"front\"\nfront",
        ),
        ("grep note /downward/annotations", "note=\"two\\nlines\"\n"),
        ("cat /downward/cpu; echo; cat /downward/memory", "250\n24"),
        ("stat -Lc %a /downward/cpu /downward/memory", "644\n400\n"),
        ("cat /file/settings", "plain\n"),
    ] {
        ensure_inside(cluster, "files", line, expected).await?;
    }
    Ok(())
}

fn pod() -> Value {
    let volumes = json!([
        { "name": "secret", "secret": { "secretName": "keys", "defaultMode": 0o400 } },
        { "name": "chosen", "secret": {
            "secretName": "keys",
            "items": [{ "key": "one", "path": "deep/er/first", "mode": 0o440 }, { "key": "two", "path": "second" }],
        } },
        { "name": "map", "configMap": { "name": "settings" } },
        { "name": "no-secret", "secret": { "secretName": "absent", "optional": true } },
        { "name": "no-map", "configMap": { "name": "absent", "optional": true } },
        { "name": "no-key", "configMap": {
            "name": "settings", "optional": true,
            "items": [{ "key": "absent", "path": "absent" }, { "key": "text", "path": "here" }],
        } },
        { "name": "downward", "downwardAPI": { "items": [
            field("name", "metadata.name"), field("namespace", "metadata.namespace"), field("labels", "metadata.labels"),
            field("label", "metadata.labels['tier']"), field("annotations", "metadata.annotations"),
            { "path": "cpu", "resourceFieldRef": {
                "containerName": "main", "resource": "limits.cpu", "divisor": "1m" } },
            { "path": "memory", "mode": 0o400, "resourceFieldRef": {
                "containerName": "main", "resource": "requests.memory", "divisor": "1Mi" } },
        ] } },
    ]);
    let names = volumes.as_array().into_iter().flatten();
    let mut mounts: Vec<_> = names
        .filter_map(|volume| volume["name"].as_str())
        .map(|name| json!({ "name": name, "mountPath": format!("/{name}") }))
        .collect();
    mounts.push(json!({ "name": "map", "mountPath": "/file/settings", "subPath": "text" }));
    let more = json!({
        "volumeMounts": mounts,
        "resources": { "limits": { "cpu": "250m" }, "requests": { "cpu": "10m", "memory": "24Mi" } },
    });
    let spec = json!({ "volumes": volumes, "containers": [container("main", STAY, more)] });
    let mut pod = api_pod("files", spec);
    pod["metadata"]["labels"] = json!({ "tier": "front", "app": "files" });
    pod["metadata"]["annotations"] = json!({ "note": "two\nlines" });
    pod
}

fn field(path: &str, name: &str) -> Value {
    json!({ "path": path, "fieldRef": { "fieldPath": name } })
}
