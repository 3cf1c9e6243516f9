//! Attaching to a container's own process: its input, and what it prints until its end.

use std::fs;

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, api_pod, container, until};
use serde_json::json;

use super::{TRANSPORTS, Transport};
use crate::scenarios::POD_LIMIT;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let [websocket, spdy] = TRANSPORTS;
    let (one, two) = tokio::join!(over(cluster, websocket), over(cluster, spdy));
    one.context(websocket.name)?;
    two.context(spdy.name)
}

async fn over(cluster: &Cluster, transport: Transport) -> Result<()> {
    feeds(cluster, transport).await.context("with input")?;
    listens(cluster, transport).await.context("listening")
}

/// The container reads what is typed, and as it may read only once it sees the end.
async fn feeds(cluster: &Cluster, transport: Transport) -> Result<()> {
    let name = format!("attach-{}", transport.name);
    let line = "while read line; do echo got $line; done; echo ended";
    let main = container("main", line, json!({ "stdin": true, "stdinOnce": true }));
    let spec = json!({ "restartPolicy": "Never", "containers": [main] });
    cluster.objects().apply(&api_pod(&name, spec)).await?;
    cluster.objects().ready(&name).await?;
    let said = transport
        .kubectl(cluster)
        .with_input(&["attach", "-i", &name], "one\ntwo\n")
        .await?;
    ensure!(said == "got one\ngot two\nended\n", "it says {said:?}");
    cluster.objects().phase(&name, "Succeeded").await?;
    Ok(())
}

/// Without input; the container's end is kubectl's.
async fn listens(cluster: &Cluster, transport: Transport) -> Result<()> {
    let name = format!("listen-{}", transport.name);
    // Nothing says when kubectl is attached, so the container goes on until it was heard.
    let line = "until [ -e /tmp/end ]; do echo here; sleep 0.2; done; echo ended";
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [container("main", line, json!({}))],
    });
    cluster.objects().apply(&api_pod(&name, spec)).await?;
    cluster.objects().ready(&name).await?;
    let heard = cluster.node.log_file(&format!("kubectl-{name}"));
    let mut attached = transport
        .kubectl(cluster)
        .start(&["attach", &name], &heard)?;
    until("the container's voice", POD_LIMIT, async || {
        attached.alive()?;
        ensure!(fs::read_to_string(&heard)?.contains("here\n"), "nothing");
        Ok(())
    })
    .await?;
    let cri = cluster.node.cri();
    let id = cri.running(&name, "main").await?.id;
    cri.shell(&id, "touch /tmp/end").await?;
    let status = attached.ended(POD_LIMIT).await?;
    let said = fs::read_to_string(&heard)?;
    ensure!(status.success(), "{status}: {said}");
    ensure!(said.ends_with("ended\n"), "it says {said:?}");
    Ok(())
}
