//! The end of a pod: grace in full and not longer, the deadline, and sidecars after the containers that they serve, the
//! last one first.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, POD, STAY, api_pod, condition, container};
use serde_json::json;

use super::{exec, status};
use crate::scenarios::diary::Diary;

/// Grace of pods that do not end by themselves, in seconds.
const GRACE: u64 = 3;
/// Enough for a start on a loaded machine, in seconds.
const DEADLINE: u64 = 10;
/// A loaded machine's pause between a container's end and its pod's; shorter than the usual grace (30 s).
const SLACK: Duration = Duration::from_secs(20);

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let stubborn = "trap '' TERM; while :; do sleep 1; done";
    let (sidecars, stubborn, hook, deadline) = tokio::join!(
        sidecars(cluster),
        graceful(cluster, "stubborn", stubborn, json!({})),
        // What is left after it is two seconds (Kubernetes 1.37).
        graceful(
            cluster,
            "endless-hook",
            STAY,
            json!({ "lifecycle": { "preStop": exec("sleep 3600") } })
        ),
        deadline(cluster),
    );
    sidecars.context("sidecars")?;
    stubborn.context("a container that ignores SIGTERM")?;
    hook.context("a hook without end")?;
    deadline.context("deadline")
}

async fn sidecars(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let diary = Diary::new(&cluster.node, "sidecars")?;
    let stays = |name: &str| {
        format!(
            "trap 'sleep 0.5; echo {name} >> /diary; exit 0' TERM; \
             while :; do sleep 3600 & wait; done"
        )
    };
    let side = json!({ "volumeMounts": [Diary::mount()], "restartPolicy": "Always" });
    let main = json!({ "volumeMounts": [Diary::mount()] });
    let spec = json!({
        "terminationGracePeriodSeconds": 20,
        "initContainers": [
            container("first", &stays("first"), side.clone()),
            container("second", &stays("second"), side),
        ],
        "containers": [container("main", &stays("main"), main)],
        "volumes": [diary.volume()],
    });
    objects.apply(&api_pod("sidecars", spec)).await?;
    objects.ready("sidecars").await?;
    objects.delete(POD, "sidecars").await?;
    objects.gone(POD, "sidecars").await?;
    let lines = diary.lines()?;
    ensure!(lines == ["main", "second", "first"], "{lines:?}");
    Ok(())
}

/// Deletes a pod that takes all of its grace.
async fn graceful(
    cluster: &Cluster,
    name: &str,
    line: &str,
    more: serde_json::Value,
) -> Result<()> {
    let objects = cluster.objects();
    let spec = json!({
        "terminationGracePeriodSeconds": GRACE,
        "containers": [container("main", line, more)],
    });
    objects.apply(&api_pod(name, spec)).await?;
    objects.ready(name).await?;
    let begin = Instant::now();
    objects.delete(POD, name).await?;
    objects.gone(POD, name).await?;
    let (took, grace) = (begin.elapsed(), Duration::from_secs(GRACE));
    ensure!(grace <= took && took < grace + SLACK, "it took {took:?}");
    Ok(())
}

async fn deadline(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let spec = json!({
        "activeDeadlineSeconds": DEADLINE,
        "containers": [container("main", "trap 'exit 9' TERM; while :; do sleep 3600 & wait; done", json!({}))],
    });
    objects.apply(&api_pod("deadline", spec)).await?;
    let said = "Pod was active on the node longer than the specified deadline";
    objects.told("deadline", "DeadlineExceeded", said).await?;
    objects
        .until(POD, "deadline", |pod| {
            let status_of = &pod["status"];
            ensure!(status_of["phase"] == "Failed", "{status_of}");
            ensure!(status_of["reason"] == "DeadlineExceeded", "{status_of}");
            ensure!(status_of["message"] == said, "{status_of}");
            condition(pod, "Ready", "False")?;
            let ended = &status(pod, "main")["state"]["terminated"];
            ensure!(ended["exitCode"] == 9, "{ended}");
            Ok(())
        })
        .await
}
