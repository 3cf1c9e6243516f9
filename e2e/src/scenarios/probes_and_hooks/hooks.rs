//! Hooks of all kinds, when they are run, and what happens when they fail.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, NODE_ADDRESS, POD, STAY, api_pod, container};
use serde_json::{Value, json};

use super::requests::Requests;
use super::{exec, status};
use crate::scenarios::diary::Diary;

/// Port of the server that HTTP hooks ask.
const PORT: u16 = 9300;
/// Seconds that sleeping hooks take.
const SLEEP: u64 = 3;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let (in_order, http, sleep, failing) = tokio::join!(
        in_order(cluster),
        http(cluster),
        sleep(cluster),
        failing(cluster),
    );
    in_order.context("by exec")?;
    http.context("by HTTP")?;
    sleep.context("by sleep")?;
    failing.context("failing")
}

/// What a container does when it is told to end, in the diary.
fn diarist(diary: &Diary, hooks: Value) -> Value {
    let line = "trap 'echo TERM >> /diary; exit 0' TERM; while :; do sleep 3600 & wait; done";
    let more = json!({ "volumeMounts": [Diary::mount()], "lifecycle": hooks });
    json!({
        "terminationGracePeriodSeconds": 20,
        "containers": [container("main", line, more)],
        "volumes": [diary.volume()],
    })
}

async fn in_order(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let diary = Diary::new(&cluster.node, "hooks")?;
    let hooks = json!({
        "postStart": exec("echo postStart >> /diary"),
        "preStop": exec("echo preStop begins >> /diary; sleep 1; echo preStop ends >> /diary"),
    });
    objects
        .apply(&api_pod("hooked", diarist(&diary, hooks)))
        .await?;
    objects.ready("hooked").await?;
    diary.reads(&["postStart"]).await?;
    objects.delete(POD, "hooked").await?;
    objects.gone(POD, "hooked").await?;
    let lines = diary.lines()?;
    ensure!(
        lines == ["postStart", "preStop begins", "preStop ends", "TERM"],
        "{lines:?}"
    );
    Ok(())
}

async fn http(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let requests = Requests::start(&cluster.node.containerd.how().netns, PORT)?;
    let ask =
        |path: &str| json!({ "httpGet": { "host": NODE_ADDRESS, "port": PORT, "path": path } });
    let hooks = json!({ "postStart": ask("/started?one=1"), "preStop": ask("/stopping") });
    let main = container("main", STAY, json!({ "lifecycle": hooks }));
    let spec = json!({ "containers": [main] });
    objects.apply(&api_pod("asking", spec)).await?;
    objects.ready("asking").await?;
    requests.are(&["GET /started?one=1"]).await?;
    objects.delete(POD, "asking").await?;
    objects.gone(POD, "asking").await?;
    requests.are(&["GET /started?one=1", "GET /stopping"]).await
}

/// A container runs for its user only when its postStart is over, and hears of its end only after its preStop.
async fn sleep(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let nap = json!({ "sleep": { "seconds": SLEEP } });
    let diary = Diary::new(&cluster.node, "sleep")?;
    let hooks = json!({ "postStart": nap, "preStop": nap });
    objects
        .apply(&api_pod("sleeper", diarist(&diary, hooks)))
        .await?;
    // The container's own clock begins before the hook's.
    let begun = objects.until(POD, "sleeper", |pod| {
        let running = &status(pod, "main")["state"]["running"];
        ensure!(running.is_object(), "it does not run");
        Ok(())
    });
    begun.await?;
    let id = super::main_of(cluster, "sleeper").await?;
    let started = cluster.node.cri().status(&id).await?.started_at;
    let pod = objects.ready("sleeper").await?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let since = now.saturating_sub(Duration::from_nanos(u64::try_from(started)?));
    ensure!(
        since >= Duration::from_secs(SLEEP),
        "ready after {since:?}: {pod}"
    );

    let begin = Instant::now();
    objects.delete(POD, "sleeper").await?;
    diary.reads(&["TERM"]).await?;
    let took = begin.elapsed();
    objects.gone(POD, "sleeper").await?;
    let (low, high) = (Duration::from_secs(SLEEP), Duration::from_secs(15));
    ensure!(low <= took && took < high, "SIGTERM came after {took:?}");
    Ok(())
}

async fn failing(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let bad = exec("echo no luck; exit 3");
    let main = container(
        "main",
        "trap 'exit 5' TERM; while :; do sleep 3600 & wait; done",
        json!({
            "lifecycle": { "postStart": bad },
        }),
    );
    let spec = json!({ "restartPolicy": "Never", "containers": [main] });
    objects.apply(&api_pod("unlucky", spec)).await?;
    let diary = Diary::new(&cluster.node, "failing")?;
    let spec = diarist(&diary, json!({ "preStop": bad }));
    objects.apply(&api_pod("unlucky-end", spec)).await?;

    objects
        .told("unlucky", "FailedPostStartHook", "PostStartHook failed")
        .await?;
    objects
        .told("unlucky", "Killing", "FailedPostStartHook")
        .await?;
    let pod = objects.phase("unlucky", "Failed").await?;
    let ended = &status(&pod, "main")["state"]["terminated"];
    ensure!(ended["exitCode"] == 5, "{ended}");

    objects.ready("unlucky-end").await?;
    objects.delete(POD, "unlucky-end").await?;
    objects
        .told("unlucky-end", "FailedPreStopHook", "PreStopHook failed")
        .await?;
    objects.gone(POD, "unlucky-end").await?;
    let lines = diary.lines()?;
    ensure!(lines == ["TERM"], "{lines:?}");
    Ok(())
}
