//! The Node object and its Lease. The stock kubelet writes them first; then the agent under test goes on in the same
//! folder, and after the object's deletion makes it anew: it is the same, field by field, as the table says. Cordon, GPUs
//! and heartbeats outlive restarts, and Ready follows containerd.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, ClusterSetup, HOSTNAME, LEASE, NODE, Setup, Software, condition, until};
use serde_json::{Value, json};

mod fields;
mod table;
mod twin;

use fields::Pair;

const HEARTBEAT: &str = "kube-node-lease/node";
/// The stock kubelet gives its runtime 30 s before it says that it is away.
const RUNTIME_LIMIT: Duration = Duration::from_secs(90);
/// The conditions of a node that is well, with the reasons of Kubernetes 1.37.
const WELL: [(&str, &str, &str); 4] = [
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ("Ready", "True", "KubeletReady"),
];
const LABELS: [(&str, &str); 3] = [
    ("example.com/tier", "gold"),
    ("example.com/empty", ""),
    ("node.kubernetes.io/instance-type", "h200"),
];
const TAINTS: [(&str, Option<&str>, &str); 2] = [
    ("example.com/dedicated", Some("gpu"), "NoSchedule"),
    ("example.com/quiet", None, "PreferNoSchedule"),
];

pub(super) async fn run() -> Result<()> {
    let mut setup = ClusterSetup::plain()?;
    let software = setup.software;
    setup.software = Software::Stock;
    setup.node = Setup::with_gpus("h200x8")?;
    setup.kubelet = json!({ "nodeStatusUpdateFrequency": "3s", "nodeLeaseDurationSeconds": 12 });
    setup.arguments = vec![
        "--node-labels=example.com/tier=gold,example.com/empty=,node.kubernetes.io/instance-type=h200"
            .to_owned(),
        "--register-with-taints=example.com/dedicated=gpu:NoSchedule,example.com/quiet:PreferNoSchedule"
            .to_owned(),
    ];
    let mut cluster = Cluster::without_agent(setup).await?;
    cluster.start_agent().await?;
    let stock = registered(&cluster, "").await?;
    as_the_flags_say(&stock.node)?;

    cluster.node.agent.stop().await?;
    let mark = heartbeat(&cluster).await?;
    cluster.node.agent.software = software;
    cluster.node.start_agent().await?;
    let taken_over = registered(&cluster, &mark).await?;
    ensure!(taken_over.node["metadata"]["uid"] == stock.node["metadata"]["uid"]);
    compare("taken over", &stock, &taken_over, software)?;

    let made_again = deleted(&mut cluster, &taken_over).await?;
    as_the_flags_say(&made_again.node)?;
    compare("made again", &stock, &made_again, software)?;

    restarts(&mut cluster).await?;
    follows_containerd(&mut cluster).await?;
    if software == Software::Gpulet {
        twin::waits(&cluster).await?;
    }
    cluster.finish().await
}

/// Node and Lease as an agent wrote them.
struct Registered {
    node: Value,
    lease: Value,
}

/// Waits until the agent that was started after the mark has said everything that it has to say about itself.
async fn registered(cluster: &Cluster, mark: &str) -> Result<Registered> {
    let objects = cluster.objects();
    let gpulet = cluster.node.agent.software == Software::Gpulet;
    let node = objects
        .until(NODE, HOSTNAME, |node| {
            well(node)?;
            // The driver may need longer than the node.
            if gpulet {
                has_gpus(node)?;
            }
            for condition in node["status"]["conditions"]
                .as_array()
                .into_iter()
                .flatten()
            {
                let at = condition["lastHeartbeatTime"].as_str().unwrap_or_default();
                ensure!(at > mark, "{} is of an earlier start", condition["type"]);
            }
            let images = node["status"]["images"].as_array();
            ensure!(images.is_some_and(|images| !images.is_empty()), "no images");
            // The controllers have their say as well.
            let ttl = &node["metadata"]["annotations"]["node.alpha.kubernetes.io/ttl"];
            ensure!(ttl.is_string(), "no annotation of the controllers");
            let taints = node["spec"]["taints"].to_string();
            ensure!(
                !taints.contains("not-ready"),
                "the taint of a new node: {taints}"
            );
            Ok(node.clone())
        })
        .await?;
    let lease = renewed(cluster, mark, &node["metadata"]["uid"]).await?;
    Ok(Registered { node, lease })
}

/// Waits for a lease of this Node object that was renewed after the mark.
async fn renewed(cluster: &Cluster, mark: &str, owner: &Value) -> Result<Value> {
    let lease = cluster.objects().until(LEASE, HEARTBEAT, |lease| {
        let at = lease["spec"]["renewTime"].as_str().unwrap_or_default();
        ensure!(at > mark, "it is not renewed");
        let owners = lease["metadata"]["ownerReferences"].as_array();
        let [one] = owners.map_or(&[][..], Vec::as_slice) else {
            anyhow::bail!("it has not one owner: {owners:?}");
        };
        ensure!(one["uid"] == *owner, "its owner is another Node object");
        Ok(lease.clone())
    });
    lease.await
}

/// A time that everything which is written from now on comes after. Conditions have whole seconds, so a write of this
/// very second is not enough.
async fn heartbeat(cluster: &Cluster) -> Result<String> {
    let node = cluster.objects().get(NODE, HOSTNAME).await?;
    let conditions = node["status"]["conditions"].as_array();
    let times = conditions
        .into_iter()
        .flatten()
        .filter_map(|condition| condition["lastHeartbeatTime"].as_str());
    let last = times.max().context("no heartbeat")?.to_owned();
    let lease = cluster.objects().get(LEASE, HEARTBEAT).await?;
    let renewed = lease["spec"]["renewTime"].as_str().unwrap_or_default();
    Ok(last.max(renewed.to_owned()))
}

/// Whether all conditions of the agent are there and say that it is well.
fn well(node: &Value) -> Result<()> {
    let conditions = node["status"]["conditions"]
        .as_array()
        .context("no conditions")?;
    for (kind, status, reason) in WELL {
        condition(node, kind, status)?;
        let named = conditions
            .iter()
            .any(|one| one["type"] == kind && one["reason"] == reason);
        ensure!(
            named,
            "the reason of {kind} is not {reason}: {conditions:?}"
        );
    }
    Ok(())
}

fn has_gpus(node: &Value) -> Result<()> {
    for list in ["capacity", "allocatable"] {
        let gpus = &node["status"][list]["nvidia.com/gpu"];
        ensure!(gpus == "8", "{list} of GPUs is {gpus}");
    }
    Ok(())
}

fn as_the_flags_say(node: &Value) -> Result<()> {
    let labels = &node["metadata"]["labels"];
    for (name, value) in LABELS {
        ensure!(labels[name] == value, "{name} in {labels}");
    }
    ensure!(labels["kubernetes.io/hostname"] == HOSTNAME, "{labels}");
    let taints = node["spec"]["taints"].as_array().context("no taints")?;
    for (key, value, effect) in TAINTS {
        let found = taints.iter().find(|taint| taint["key"] == key);
        let found = found.with_context(|| format!("no taint {key}: {taints:?}"))?;
        let is = (found["value"].as_str(), found["effect"].as_str());
        ensure!(is == (value, Some(effect)), "{found}");
    }
    Ok(())
}

fn compare(what: &str, stock: &Registered, ours: &Registered, software: Software) -> Result<()> {
    let made_again = stock.node["metadata"]["uid"] != ours.node["metadata"]["uid"];
    let pair = |kind, stock, ours| Pair {
        what: kind,
        stock,
        ours,
        software,
        made_again,
    };
    let nodes = pair("the Node", &stock.node, &ours.node).compare(table::NODE_ROWS);
    let leases = pair("the Lease", &stock.lease, &ours.lease).compare(table::LEASE_ROWS);
    let wrong: Vec<String> = [nodes, leases]
        .into_iter()
        .filter_map(|one| Some(one.err()?.to_string()))
        .collect();
    ensure!(wrong.is_empty(), "{what}: {}", wrong.join("\n"));
    Ok(())
}

/// Somebody deletes the object. The stock kubelet makes it anew at its next start.
async fn deleted(cluster: &mut Cluster, before: &Registered) -> Result<Registered> {
    let mark = heartbeat(cluster).await?;
    cluster.objects().delete(NODE, HOSTNAME).await?;
    if cluster.node.agent.software == Software::Stock {
        cluster.node.agent.stop().await?;
        cluster.node.start_agent().await?;
    }
    let old = &before.node["metadata"]["uid"];
    cluster
        .objects()
        .until(NODE, HOSTNAME, |node| {
            ensure!(node["metadata"]["uid"] != *old, "it is the old one");
            Ok(())
        })
        .await?;
    registered(cluster, &mark).await
}

/// A cordoned node stays so over a restart and a crash of the agent, and its GPUs are never away.
async fn restarts(cluster: &mut Cluster) -> Result<()> {
    cluster.kubectl.run(&["cordon", HOSTNAME]).await?;
    let objects = cluster.objects().clone();
    objects
        .told(HOSTNAME, "NodeNotSchedulable", HOSTNAME)
        .await?;
    for crash in [false, true] {
        let mark = heartbeat(cluster).await?;
        let gpulet = cluster.node.agent.software == Software::Gpulet;
        let watched = objects.clone();
        let watching = watched.until(NODE, HOSTNAME, |node| {
            seen_over_restart(node, gpulet, &mark)
        });
        let agent = async {
            if crash {
                cluster.node.agent.kill();
            } else {
                cluster.node.agent.stop().await?;
            }
            cluster.node.start_agent().await
        };
        let (outcome, started) = tokio::join!(watching, agent);
        started?;
        outcome?.map_err(anyhow::Error::msg)?;
    }
    cluster.kubectl.run(&["uncordon", HOSTNAME]).await?;
    objects
        .told(HOSTNAME, "NodeSchedulable", HOSTNAME)
        .await
        .map(drop)
}

/// One version of the Node during a restart: an error while the agent has not spoken yet, and the fault, if it has one,
/// as the end of the watch.
fn seen_over_restart(
    node: &Value,
    gpulet: bool,
    mark: &str,
) -> Result<std::result::Result<(), String>> {
    if node["spec"]["unschedulable"] != true {
        return Ok(Err(format!(
            "it is not cordoned any more: {}",
            node["spec"]
        )));
    }
    if gpulet && let Err(fault) = has_gpus(node) {
        return Ok(Err(fault.to_string()));
    }
    let ready = node["status"]["conditions"].as_array();
    let ready = ready
        .into_iter()
        .flatten()
        .find(|one| one["type"] == "Ready");
    let at = ready.and_then(|one| one["lastHeartbeatTime"].as_str());
    ensure!(
        at.is_some_and(|at| at > mark),
        "nothing is said after the restart"
    );
    condition(node, "Ready", "True")?;
    Ok(Ok(()))
}

/// Without containerd the node is NotReady but alive, and Ready again once it is back.
async fn follows_containerd(cluster: &mut Cluster) -> Result<()> {
    let objects = cluster.objects().within(RUNTIME_LIMIT);
    objects.told(HOSTNAME, "NodeReady", HOSTNAME).await?;
    let agent = cluster.node.agent.pid()?;
    cluster.node.containerd.kill();
    cluster.node.proxy.cut();
    let owner = objects
        .until(NODE, HOSTNAME, |node| {
            condition(node, "Ready", "False")?;
            let conditions = node["status"]["conditions"].to_string();
            ensure!(conditions.contains("KubeletNotReady"), "{conditions}");
            Ok(node["metadata"]["uid"].clone())
        })
        .await?;
    objects.told(HOSTNAME, "NodeNotReady", HOSTNAME).await?;
    let mark = objects.get(LEASE, HEARTBEAT).await?;
    let mark = mark["spec"]["renewTime"].as_str().context("no time")?;
    renewed(cluster, mark, &owner).await?;
    cluster.node.containerd = cluster.node.containerd.how().clone().again().await?;
    objects.until(NODE, HOSTNAME, well).await?;
    cluster.node.agent.alive()?;
    ensure!(
        cluster.node.agent.pid()? == agent,
        "the agent is another one"
    );
    // The controllers' taints go as well, so that pods can come again.
    until(
        "a node without taints of conditions",
        RUNTIME_LIMIT,
        async || {
            let node = objects.get(NODE, HOSTNAME).await?;
            let taints = node["spec"]["taints"].to_string();
            ensure!(!taints.contains("node.kubernetes.io/"), "{taints}");
            Ok(())
        },
    )
    .await
}
