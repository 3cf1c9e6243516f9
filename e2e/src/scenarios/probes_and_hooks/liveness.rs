//! A container that fails its liveness probe is restarted, alone, and after the probe's own grace.

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::{Cluster, POD, STAY, api_pod, container};
use serde_json::json;

use super::{main_of, quick, status};

/// Far below the pod's grace.
const LIMIT: Duration = Duration::from_secs(40);

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let mut probe = quick(json!({ "httpGet": { "port": "web", "path": "/ok" } }));
    probe["terminationGracePeriodSeconds"] = json!(1);
    // It ignores SIGTERM when it is not well.
    let line = "echo fine > /www/ok; trap 'test -e /www/ok && exit 0' TERM; \
                httpd -f -p 80 -h /www & while :; do sleep 3600 & wait $!; done";
    let more = json!({
        "livenessProbe": probe,
        // It may listen a moment later than it runs.
        "startupProbe": { "tcpSocket": { "port": "web" }, "periodSeconds": 1, "failureThreshold": 60 },
        "ports": [{ "name": "web", "containerPort": 80 }],
    });
    let spec = json!({
        "terminationGracePeriodSeconds": 100,
        "containers": [container("main", line, more), container("other", STAY, json!({}))],
    });
    objects.apply(&api_pod("http", spec)).await?;
    objects.ready("http").await?;
    let main = main_of(cluster, "http").await?;
    let other = cluster.node.cri().running("http", "other").await?.id;
    cluster.node.cri().shell(&main, "rm /www/ok").await?;

    let said = "Liveness probe failed: HTTP probe failed with statuscode: 404";
    objects.told("http", "Unhealthy", said).await?;
    let said = "Container main failed liveness probe, will be restarted";
    objects.told("http", "Killing", said).await?;
    objects
        .within(LIMIT)
        .until(POD, "http", |pod| {
            let main = status(pod, "main");
            ensure!(main["restartCount"] == 1 && main["ready"] == true, "{main}");
            let ended = &main["lastState"]["terminated"];
            ensure!(
                ended["exitCode"] == 137 && ended["reason"] == "Error",
                "{main}"
            );
            let other = status(pod, "other");
            ensure!(
                other["restartCount"] == 0 && other["ready"] == true,
                "{other}"
            );
            Ok(())
        })
        .await?;
    let now = cluster.node.cri().running("http", "other").await?.id;
    ensure!(now == other, "the other container is another one");
    Ok(())
}
