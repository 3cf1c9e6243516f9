//! What kubectl shows of a pod's life and of its node: events, and the node's own answers through the API server.

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, HOSTNAME, NODE_ADDRESS};
use serde_json::Value;

use super::POD;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    described(cluster).await.context("describe")?;
    asked(cluster).await
}

async fn described(cluster: &Cluster) -> Result<()> {
    let reasons = ["Scheduled", "Pulled", "Created", "Started"];
    for reason in reasons {
        cluster.objects().told(POD, reason, "").await?;
    }
    let said = cluster.kubectl.run(&["describe", "pod", POD]).await?;
    let (top, events) = said.split_once("\nEvents:").context("no events")?;
    let missing: Vec<_> = reasons
        .iter()
        .filter(|reason| !events.contains(&format!(" {reason} ")))
        .collect();
    ensure!(missing.is_empty(), "{missing:?} not in {events}");
    let id = cluster.node.cri().running(POD, "main").await?.id;
    let ip = cluster.node.cri().pod_ip(POD).await?;
    for words in [
        format!("Node:             {HOSTNAME}/{NODE_ADDRESS}"),
        format!("containerd://{id}"),
        ip,
    ] {
        ensure!(top.contains(&words), "no {words:?} in {top}");
    }
    Ok(())
}

async fn asked(cluster: &Cluster) -> Result<()> {
    let ask = async |path: &str| {
        let path = format!("/api/v1/nodes/{HOSTNAME}/proxy/{path}");
        cluster.kubectl.run(&["get", "--raw", &path]).await
    };
    let health = ask("healthz").await?;
    ensure!(health == "ok", "{health:?}");
    let pods: Value = serde_json::from_str(&ask("pods").await?)?;
    let items = pods["items"].as_array().context("no items")?;
    let ours = items.iter().find(|pod| pod["metadata"]["name"] == POD);
    let ours = ours.with_context(|| format!("{POD} is not in {pods}"))?;
    ensure!(
        pods["kind"] == "PodList" && ours["spec"]["nodeName"] == HOSTNAME,
        "{ours}"
    );
    let config: Value = serde_json::from_str(&ask("configz").await?)?;
    let config = &config["kubeletconfig"];
    ensure!(config["clusterDomain"] == "cluster.local", "{config}");
    ensure!(
        config["authentication"]["anonymous"]["enabled"] == false,
        "{config}"
    );
    Ok(())
}
