//! The startup probe holds the others back, and one that never succeeds restarts the container.

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, POD, STAY, api_pod, container};
use serde_json::json;

use super::{exec, main_of, quick, status};
use crate::scenarios::diary::Diary;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let (held, never) = tokio::join!(held_back(cluster), never(cluster));
    held.context("held back")?;
    never.context("never started")
}

async fn held_back(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let diary = Diary::new(&cluster.node, "startup")?;
    let line = "until test -e /tmp/go; do sleep 0.1; done; exec httpd -f -p 7000";
    let startup = json!({
        "tcpSocket": { "port": 7000 }, "periodSeconds": 1, "failureThreshold": 100,
    });
    let more = json!({
        "volumeMounts": [Diary::mount()],
        "startupProbe": startup,
        "livenessProbe": quick(exec("echo liveness >> /diary")),
        "readinessProbe": quick(exec("echo readiness >> /diary")),
    });
    let spec =
        json!({ "containers": [container("main", line, more)], "volumes": [diary.volume()] });
    objects.apply(&api_pod("tcp", spec)).await?;
    let said = "Startup probe failed: dial tcp ";
    objects.told("tcp", "Unhealthy", said).await?;
    let pod = objects.get(POD, "tcp").await?;
    let main = status(&pod, "main");
    ensure!(main["started"] == false && main["ready"] == false, "{main}");
    ensure!(diary.lines()?.is_empty(), "{:?}", diary.lines()?);

    let id = main_of(cluster, "tcp").await?;
    cluster.node.cri().shell(&id, "touch /tmp/go").await?;
    let pod = objects.ready("tcp").await?;
    let main = status(&pod, "main");
    ensure!(
        main["started"] == true && main["restartCount"] == 0,
        "{main}"
    );
    let lines = diary.lines()?;
    ensure!(lines.iter().any(|line| line == "readiness"), "{lines:?}");
    Ok(())
}

async fn never(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let more = json!({ "startupProbe": quick(exec("echo too early; false")) });
    let spec = json!({ "containers": [container("main", STAY, more)] });
    objects.apply(&api_pod("never", spec)).await?;
    objects
        .told("never", "Unhealthy", "Startup probe failed: too early")
        .await?;
    let said = "Container main failed startup probe, will be restarted";
    objects.told("never", "Killing", said).await?;
    objects
        .until(POD, "never", |pod| {
            let main = status(pod, "main");
            let restarts = main["restartCount"].as_u64().unwrap_or_default();
            ensure!(restarts > 0, "{main}");
            ensure!(main["lastState"]["terminated"]["exitCode"] == 0, "{main}");
            Ok(())
        })
        .await
}
