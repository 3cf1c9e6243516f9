//! Restarts: the pause of the configuration between them, and a rule that restarts the whole pod in its place.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, POD, STAY, api_pod, container};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::{PAUSE, status};
use crate::scenarios::diary::Diary;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let (crashing, all) = tokio::join!(crashing(cluster), all(cluster));
    crashing.context("crashing")?;
    all.context("all containers")
}

async fn crashing(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let spec = json!({ "containers": [container("main", "exit 7", json!({}))] });
    objects.apply(&api_pod("crashing", spec)).await?;
    let said = format!("back-off {PAUSE}s restarting failed container=main pod=crashing_default(");
    // With the usual pauses (10, 20, 40 s) the third restart would come after half a minute.
    let mut runs = BTreeMap::new();
    objects
        .until(POD, "crashing", |pod| {
            let main = status(pod, "main");
            note_runs(main, &mut runs)?;
            let restarts = main["restartCount"].as_u64().unwrap_or_default();
            ensure!(restarts >= 3, "{main}");
            let waiting = &main["state"]["waiting"];
            ensure!(waiting["reason"] == "CrashLoopBackOff", "{main}");
            let message = waiting["message"].as_str().unwrap_or_default();
            ensure!(message.starts_with(&said), "{message}");
            ensure!(main["lastState"]["terminated"]["exitCode"] == 7, "{main}");
            Ok(())
        })
        .await?;
    let word = "Back-off restarting failed container main in pod crashing_default(";
    objects.told("crashing", "BackOff", word).await?;
    // The runtime's times, to the second: the first restart comes at once, each further one after the pause.
    let pause = i64::try_from(PAUSE)?;
    for (before, after) in runs.values().skip(1).zip(runs.keys().skip(2)) {
        ensure!(after - before >= pause - 1, "one after the other: {runs:?}");
    }
    Ok(())
}

/// Begin and end of a container's runs, by its status.
fn note_runs(main: &Value, runs: &mut BTreeMap<i64, i64>) -> Result<()> {
    for state in ["state", "lastState"] {
        let ended = &main[state]["terminated"];
        if ended.is_object() {
            runs.insert(
                seconds(&ended["startedAt"])?,
                seconds(&ended["finishedAt"])?,
            );
        }
    }
    Ok(())
}

fn seconds(time: &Value) -> Result<i64> {
    let time: Time = serde_json::from_value(time.clone())?;
    Ok(time.0.as_second())
}

/// Exit code 88 restarts every container of the pod, init containers and sidecars as well, in the same sandbox.
async fn all(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let diary = Diary::new(&cluster.node, "restarts")?;
    let notes = |name: &str| format!("echo {name} >> /diary");
    let mounts = json!({ "volumeMounts": [Diary::mount()] });
    let side = json!({ "volumeMounts": [Diary::mount()], "restartPolicy": "Always" });
    let rule = json!({
        "volumeMounts": [Diary::mount()],
        "restartPolicy": "Never",
        "restartPolicyRules": [
            { "action": "RestartAllContainers", "exitCodes": { "operator": "In", "values": [88] } },
        ],
    });
    let last = format!(
        "{}; test $(grep -c main /diary) = 2 || exit 88; {STAY}",
        notes("main")
    );
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [
            container("init", &notes("init"), mounts),
            container("side", &format!("{}; {STAY}", notes("side")), side),
            // The sidecar is started, but nothing says that its first line has run.
            container("after", "sleep 0.5", json!({})),
        ],
        "containers": [container("main", &last, rule)],
        "volumes": [diary.volume()],
    });
    objects.apply(&api_pod("again", spec)).await?;
    diary
        .reads(&["init", "side", "main", "init", "side", "main"])
        .await?;
    let pod = objects.ready("again").await?;
    ensure!(
        status(&pod, "main")["restartCount"] == 1,
        "{}",
        pod["status"]
    );
    let sandboxes = cluster.node.cri().sandboxes().await?;
    let own = sandboxes.iter().filter(|one| {
        one.metadata
            .as_ref()
            .is_some_and(|metadata| metadata.name == "again")
    });
    ensure!(own.count() == 1, "the pod has another sandbox");
    Ok(())
}
