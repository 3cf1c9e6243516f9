//! A container's log: all of it, parts of it, as it grows, and that of the one before.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, STAY, api_pod, container, until};
use serde_json::json;

use crate::scenarios::POD_LIMIT;

const SPEAKER: &str = "speaker";
const WHOLE: &str = "line 1\nline 2\nline 3\nline 4\noops\nlast\n";

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let (current, previous) = tokio::join!(current(cluster), previous(cluster));
    current?;
    previous.context("--previous")
}

async fn current(cluster: &Cluster) -> Result<()> {
    let line = "for i in 1 2 3 4; do echo line $i; done; echo oops >&2; \
                until [ -e /tmp/go ]; do sleep 0.1; done; echo last";
    let main = container("main", line, json!({}));
    let spec = json!({ "restartPolicy": "Never", "containers": [main] });
    let objects = cluster.objects();
    objects.apply(&api_pod(SPEAKER, spec)).await?;
    objects.ready(SPEAKER).await?;
    follow(cluster).await.context("--follow")?;
    objects.phase(SPEAKER, "Succeeded").await?;
    parts(cluster).await
}

/// It shows what is there, then what comes, and ends with the container.
async fn follow(cluster: &Cluster) -> Result<()> {
    let log = cluster.node.log_file("kubectl-follow");
    let mut follow = cluster.kubectl.start(&["logs", "-f", SPEAKER], &log)?;
    until("the first lines", POD_LIMIT, async || {
        follow.alive()?;
        let said = fs::read_to_string(&log)?;
        ensure!(said.contains("oops\n"), "{said:?}");
        Ok(())
    })
    .await?;
    let cri = cluster.node.cri();
    let id = cri.running(SPEAKER, "main").await?.id;
    cri.shell(&id, "touch /tmp/go").await?;
    let status = follow.ended(POD_LIMIT).await?;
    let said = fs::read_to_string(&log)?;
    ensure!(status.success(), "{status}: {said}");
    // The two outputs are two pipes, so that only the order of each is sure.
    ensure!(sorted(&said) == sorted(WHOLE), "{said:?}");
    ensure!(said.ends_with("last\n"), "{said:?}");
    Ok(())
}

async fn parts(cluster: &Cluster) -> Result<()> {
    let logs = async |more: &[&str]| {
        let arguments = [&["logs", SPEAKER], more].concat();
        cluster.kubectl.run(&arguments).await
    };
    let whole = logs(&[]).await?;
    ensure!(sorted(&whole) == sorted(WHOLE), "{whole:?}");
    let lines: Vec<&str> = whole.lines().collect();
    let tail = logs(&["--tail=2"]).await?;
    ensure!(tail.lines().eq(lines[4..].iter().copied()), "{tail:?}");
    let none = logs(&["--tail=0"]).await?;
    ensure!(none.is_empty(), "--tail=0 gives {none:?}");
    let bytes = logs(&["--limit-bytes=9"]).await?;
    ensure!(bytes == whole[..9], "{bytes:?}");

    let stamped = logs(&["--timestamps"]).await?;
    let stamped: Vec<(&str, &str)> = stamped
        .lines()
        .map(|line| line.split_once(' ').context("a line without a time"))
        .collect::<Result<_>>()?;
    ensure!(
        stamped
            .iter()
            .map(|(_, line)| *line)
            .eq(lines.iter().copied()),
        "{stamped:?}"
    );
    let (last, _) = *stamped.last().context("no lines")?;
    ensure!(stamped.is_sorted_by_key(|(time, _)| *time), "{stamped:?}");
    let since = logs(&[&format!("--since-time={last}")]).await?;
    ensure!(since == "last\n", "--since-time={last} gives {since:?}");
    let hour = logs(&["--since=1h"]).await?;
    ensure!(hour == whole, "--since=1h gives {hour:?}");
    until(
        "an empty log of the last second",
        Duration::from_secs(30),
        async || {
            let second = logs(&["--since=1s"]).await?;
            ensure!(second.is_empty(), "{second:?}");
            Ok(())
        },
    )
    .await
}

async fn previous(cluster: &Cluster) -> Result<()> {
    let line = format!(
        "test -e /work/again && {{ echo second; {STAY}; }}; touch /work/again; echo first; exit 3"
    );
    let mount = json!({ "volumeMounts": [{ "name": "work", "mountPath": "/work" }] });
    let spec = json!({
        "containers": [container("main", &line, mount)],
        "volumes": [{ "name": "work", "emptyDir": {} }],
    });
    let objects = cluster.objects();
    objects.apply(&api_pod("again", spec)).await?;
    objects
        .until(e2e::POD, "again", |pod| {
            let main = &pod["status"]["containerStatuses"][0];
            ensure!(main["restartCount"] == 1 && main["ready"] == true, "{main}");
            Ok(())
        })
        .await?;
    let kubectl = &cluster.kubectl;
    // The container is ready as soon as it runs, before its first line.
    until("the second container's line", POD_LIMIT, async || {
        let now = kubectl.run(&["logs", "again"]).await?;
        ensure!(now == "second\n", "{now:?}");
        Ok(())
    })
    .await?;
    let before = kubectl.run(&["logs", "again", "--previous"]).await?;
    ensure!(before == "first\n", "{before:?}");
    let refused = kubectl
        .output(&["logs", super::POD, "--previous"], "")
        .await?;
    let said = String::from_utf8_lossy(&refused.stderr);
    let words = "previous terminated container \"main\" in pod \"tool\" not found";
    ensure!(!refused.status.success() && said.contains(words), "{said}");
    Ok(())
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}
