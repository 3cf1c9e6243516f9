//! Volumes whose content is an image.

use anyhow::{Result, ensure};
use e2e::{BUSYBOX, Cluster, POD, STAY, api_pod, container};
use serde_json::{Value, json};

/// A container reads an image, as a user of its own, and its status says which. Another one waits for an image that nobody
/// has. Folders inside an image are left out: the containerd of the tests (2.1) mounts the whole image for them.
pub(super) async fn mounted(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let reads = json!({
        "volumeMounts": [{ "name": "tools", "mountPath": "/all" }],
        "securityContext": { "runAsUser": 1000, "runAsGroup": 3000 },
    });
    let line = "test -e /all/bin/busybox && ! touch /all/x";
    let pod = spec(BUSYBOX, line, reads);
    objects.apply(&api_pod("image-reader", pod)).await?;
    let waits = json!({ "volumeMounts": [{ "name": "tools", "mountPath": "/all" }] });
    let pod = spec("localhost/nowhere:1", STAY, waits);
    objects.apply(&api_pod("image-waiter", pod)).await?;

    let pod = objects.phase("image-reader", "Succeeded").await?;
    let user = &pod["status"]["containerStatuses"][0]["user"]["linux"];
    let ids = (&user["uid"], &user["gid"]);
    ensure!(ids == (&json!(1000), &json!(3000)), "{user}");
    objects
        .until(POD, "image-waiter", |pod| {
            let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
            ensure!(waiting["reason"] == "ImagePullBackOff", "{waiting}");
            let message = waiting["message"].as_str().unwrap_or_default();
            let begin = "Back-off pulling image \"localhost/nowhere:1\": ErrImagePull";
            ensure!(message.starts_with(begin), "{message}");
            Ok(())
        })
        .await?;
    Ok(())
}

fn spec(image: &str, line: &str, more: Value) -> Value {
    let source = json!({ "reference": image, "pullPolicy": "IfNotPresent" });
    json!({
        "restartPolicy": "Never",
        "containers": [container("main", line, more)],
        "volumes": [{ "name": "tools", "image": source }],
    })
}
