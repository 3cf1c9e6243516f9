//! fsGroup: who owns what is in a volume, and with which modes.

use std::fs;

use anyhow::{Result, ensure};
use e2e::{Cluster, STAY, api_pod, container, metadata};
use serde_json::json;

use super::{ensure_inside, inside};

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata("owned"), "stringData": { "key": "word\n" },
    });
    objects.apply(&secret).await?;
    let host = cluster.node.scratch("not-owned")?;
    fs::write(host.join("file"), "host\n")?;
    let sources = json!([
        { "serviceAccountToken": { "path": "token", "audience": "owned" } },
        { "secret": { "name": "owned", "items": [{ "key": "key", "path": "key", "mode": 0o400 }] } },
    ]);
    let volumes = json!([
        { "name": "disk", "emptyDir": {} },
        { "name": "memory", "emptyDir": { "medium": "Memory" } },
        { "name": "secret", "secret": { "secretName": "owned", "defaultMode": 0o400 } },
        { "name": "projected", "projected": { "sources": sources } },
        { "name": "host", "hostPath": { "path": host } },
    ]);
    let mounts: Vec<_> = ["disk", "memory", "secret", "projected", "host"]
        .map(|name| json!({ "name": name, "mountPath": format!("/{name}") }))
        .into();
    let spec = json!({
        "securityContext": { "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 3000 },
        "volumes": volumes,
        "containers": [container("main", STAY, json!({ "volumeMounts": mounts }))],
    });
    objects.apply(&api_pod("owned", spec)).await?;
    objects.ready("owned").await?;
    let groups = inside(cluster, "owned", "id -G").await?;
    ensure!(
        groups.split_whitespace().any(|group| group == "3000"),
        "{groups}"
    );
    for (line, expected) in [
        (
            "stat -Lc %a:%u:%g /disk /memory",
            "2777:0:3000\n3777:0:3000\n",
        ),
        ("touch /disk/new && stat -c %u:%g /disk/new", "1000:3000\n"),
        (
            "stat -Lc %a:%u:%g /secret/key; cat /secret/key",
            "440:0:3000\nword\n",
        ),
        (
            "stat -Lc %a:%u:%g /projected/key /projected/token",
            "440:0:3000\n640:1000:3000\n",
        ),
        (
            "test -s /projected/token && cat /projected/token >/dev/null && echo readable",
            "readable\n",
        ),
        // The host's own files belong to the host.
        ("stat -c %u:%g /host /host/file", "0:0\n0:0\n"),
    ] {
        ensure_inside(cluster, "owned", line, expected).await?;
    }
    Ok(())
}
