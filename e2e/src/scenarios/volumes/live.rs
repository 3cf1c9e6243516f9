//! What changes in an object is seen inside a running container without a restart; what is immutable or was mounted as
//! a single file stays.

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::{CONFIG_MAP, Cluster, POD, SECRET, STAY, api_pod, container, metadata};
use serde_json::{Value, json};

use super::{ensure_inside, until_inside};

/// The stock kubelet looks again within 6 s here; a busy machine gets its time.
const LIMIT: Duration = Duration::from_secs(60);

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    objects.apply(&map("changing", false)).await?;
    objects.apply(&map("fixed", true)).await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata("changing"), "stringData": { "key": "old" },
    });
    objects.apply(&secret).await?;
    objects.apply(&pod()).await?;
    objects.ready("live").await?;
    let before = cluster.node.cri().running("live", "main").await?;
    let old = "cat /map/key /secret/key /all/map /all/secret /file /fixed/key /map/leaving";
    ensure_inside(cluster, "live", old, &"old".repeat(7)).await?;

    let change = json!({ "data": { "key": "new", "leaving": null, "coming": "new" } });
    objects.patch(CONFIG_MAP, "changing", &change).await?;
    let change = json!({ "stringData": { "key": "new" } });
    objects.patch(SECRET, "changing", &change).await?;
    let change =
        json!({ "metadata": { "labels": { "tier": "new" }, "annotations": { "note": "new" } } });
    objects.patch(POD, "live", &change).await?;
    for (line, expected) in [
        ("cat /map/key /map/coming; ls /map", "newnewcoming\nkey\n"),
        ("cat /secret/key", "new"),
        ("cat /all/map /all/secret", "newnew"),
        (
            "cat /downward/labels; echo; grep note /downward/annotations",
            "tier=\"new\"\nnote=\"new\"\n",
        ),
    ] {
        until_inside(cluster, "live", line, expected, LIMIT).await?;
    }
    // A single file that was mounted stays what it was.
    ensure_inside(cluster, "live", "cat /file /fixed/key", "oldold").await?;
    // Old contents are taken away: what is shown and nothing else.
    let line = "ls -A /map | wc -l; ls -d /map/..2* | wc -l";
    until_inside(cluster, "live", line, "4\n1\n", LIMIT).await?;
    let refused = objects
        .patch(CONFIG_MAP, "fixed", &json!({ "data": { "key": "new" } }))
        .await;
    ensure!(refused.is_err(), "an immutable configMap was changed");

    let after = cluster.node.cri().running("live", "main").await?;
    ensure!(before.id == after.id, "the container is another one");
    let pod = objects.get(POD, "live").await?;
    ensure!(
        pod["status"]["containerStatuses"][0]["restartCount"] == 0,
        "{pod}"
    );
    replaced(cluster).await
}

/// An immutable object that was deleted and made anew counts for pods that start from then on.
async fn replaced(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    objects.delete(POD, "live").await?;
    objects.gone(POD, "live").await?;
    objects.delete(CONFIG_MAP, "fixed").await?;
    objects.gone(CONFIG_MAP, "fixed").await?;
    let mut fixed = map("fixed", true);
    fixed["data"]["key"] = json!("newest");
    objects.apply(&fixed).await?;
    objects.apply(&pod()).await?;
    objects.ready("live").await?;
    ensure_inside(cluster, "live", "cat /fixed/key /file", "newestnew").await
}

fn map(name: &str, immutable: bool) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name), "immutable": immutable,
        "data": { "key": "old", "leaving": "old" },
    })
}

fn pod() -> Value {
    let item = |path: &str| json!([{ "key": "key", "path": path }]);
    let field = |path: &str, name: &str| json!({ "path": path, "fieldRef": { "fieldPath": name } });
    let volumes = json!([
        { "name": "map", "configMap": { "name": "changing" } },
        { "name": "fixed", "configMap": { "name": "fixed" } },
        { "name": "secret", "secret": { "secretName": "changing" } },
        { "name": "downward", "downwardAPI": { "items": [
            field("labels", "metadata.labels"), field("annotations", "metadata.annotations"),
        ] } },
        { "name": "all", "projected": { "sources": [
            { "configMap": { "name": "changing", "items": item("map") } },
            { "secret": { "name": "changing", "items": item("secret") } },
        ] } },
    ]);
    let mounts = json!([
        { "name": "map", "mountPath": "/map" },
        { "name": "map", "mountPath": "/file", "subPath": "key" },
        { "name": "fixed", "mountPath": "/fixed" },
        { "name": "secret", "mountPath": "/secret" },
        { "name": "downward", "mountPath": "/downward" },
        { "name": "all", "mountPath": "/all" },
    ]);
    let main = container("main", STAY, json!({ "volumeMounts": mounts }));
    let mut pod = api_pod("live", json!({ "volumes": volumes, "containers": [main] }));
    pod["metadata"]["labels"] = json!({ "tier": "old" });
    pod["metadata"]["annotations"] = json!({ "note": "old" });
    pod
}
