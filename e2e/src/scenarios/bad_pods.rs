//! Pods that the API server takes and a node cannot run. Each ends with the phase, the reasons and the event of a table
//! that the stock kubelet and gpulet are both held to, and a healthy pod beside them never notices.

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, ClusterSetup, Component, HOSTNAME, NODE, POD, STAY, api_pod, container};
use futures::future::join_all;
use serde_json::{Value, json};

mod rejected;
mod row;
mod stuck;

use row::Row;

/// Pods of the node, the healthy one and those that wait for ever included; the rest is filled up.
const MAX_PODS: usize = 40;
/// A port of the node that the healthy pod has.
const PORT: u16 = 18080;
/// An image that says nothing about what to run.
const SILENT: &str = "localhost/silent:1";

pub(super) async fn run() -> Result<()> {
    let setup = ClusterSetup {
        kubelet: json!({ "maxPods": MAX_PODS }),
        // It would delete the pod that does not tolerate the node's taint, perhaps before the node sees it.
        flags: vec![(
            Component::ControllerManager,
            "--controllers=*,-taint-eviction-controller".into(),
        )],
        ..ClusterSetup::plain()?
    };
    let cluster = Cluster::start(setup).await?;
    let path = json!({ "Env": ["PATH=/bin"] });
    cluster.node.containerd.add_image(SILENT, &path)?;
    let healthy = healthy(&cluster).await?;

    cluster.objects().apply(&handler_less()).await?;
    let rows = rejected::rows().into_iter().chain(stuck::rows());
    hold(&cluster, rows.collect()).await?;
    tainted(&cluster).await?;
    filled_up(&cluster).await?;

    let main = cluster.node.cri().running("healthy", "main").await?.id;
    ensure!(main == healthy.0, "the healthy container is another one");
    let now = ready_since(&cluster.objects().get(POD, "healthy").await?)?;
    ensure!(now == healthy.1, "the healthy pod was not ready meanwhile");
    cluster.finish().await
}

/// Makes all pods and looks at each; says everything that is not as the table says.
async fn hold(cluster: &Cluster, rows: Vec<Row>) -> Result<()> {
    let looks = rows.iter().map(|row| row.hold(cluster));
    let outcomes = join_all(looks).await;
    let wrong: Vec<String> = rows
        .iter()
        .zip(outcomes)
        .filter_map(|(row, outcome)| Some(format!("{}: {:#}", row.name, outcome.err()?)))
        .collect();
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// A pod with a port of the node, and a probe that would note any pause. Gives its container and when it became ready.
async fn healthy(cluster: &Cluster) -> Result<(String, String)> {
    let more = json!({
        "ports": [{ "containerPort": 80, "hostPort": PORT }],
        "readinessProbe": { "exec": { "command": ["true"] }, "periodSeconds": 2 },
    });
    let mut pod = api_pod(
        "healthy",
        json!({ "containers": [container("main", STAY, more)] }),
    );
    pod["spec"]["tolerations"] = json!([{ "operator": "Exists" }]);
    cluster.objects().apply(&pod).await?;
    let since = ready_since(&cluster.objects().ready("healthy").await?)?;
    let main = cluster.node.cri().running("healthy", "main").await?.id;
    Ok((main, since))
}

/// A pod bound to a node with a taint that it does not tolerate.
async fn tainted(cluster: &Cluster) -> Result<()> {
    let taint = json!([{ "key": "e2e", "value": "no", "effect": "NoExecute" }]);
    let taints = |taints: Value| json!({ "spec": { "taints": taints } });
    let objects = cluster.objects();
    objects.patch(NODE, HOSTNAME, &taints(taint)).await?;
    let row = Row::rejected(
        "untolerating",
        bound(staying()),
        "TaintToleration",
        "taints that the pod didn't tolerate",
    );
    // The agent learns about the node and about the pod by different watches; the first pods may still be let in.
    let outcome = async {
        for attempt in 0..20 {
            let one = row.named(format!("untolerating-{attempt}"));
            if one.ends_rejected(cluster).await? {
                return one.look(cluster).await;
            }
        }
        anyhow::bail!("20 pods were let onto a node with a taint")
    };
    let outcome = outcome.await;
    objects.patch(NODE, HOSTNAME, &taints(json!([]))).await?;
    outcome
}

/// Pods that wait for a config map that never comes, until the node has all that it takes; then one more.
async fn filled_up(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let there = objects.list(POD, "").await?;
    let live = there.iter().filter(|pod| {
        let phase = &pod["status"]["phase"];
        phase != "Failed" && phase != "Succeeded"
    });
    let missing = MAX_PODS
        .checked_sub(live.count())
        .context("more pods live than the node takes")?;
    let names: Vec<String> = (0..missing)
        .map(|index| format!("filler-{index}"))
        .collect();
    for name in &names {
        objects.apply(&api_pod(name, bound(waiting()))).await?;
    }
    for name in &names {
        objects
            .until(POD, name, |pod| {
                let taken = pod["status"]["startTime"].is_string();
                ensure!(taken, "the node has not taken it");
                ensure!(pod["status"]["phase"] == "Pending", "{}", pod["status"]);
                Ok(())
            })
            .await?;
    }
    let row = Row::rejected(
        "one-too-many",
        bound(waiting()),
        "OutOfpods",
        "enough resource: pods",
    );
    row.hold(cluster).await
}

/// A RuntimeClass whose handler the container runtime does not have.
fn handler_less() -> Value {
    json!({
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": { "name": "handler-less" },
        "handler": "nosuch",
    })
}

/// Bound to the node by its name, so that the scheduler is not asked.
fn bound(mut spec: Value) -> Value {
    spec["nodeName"] = json!(HOSTNAME);
    spec
}

fn staying() -> Value {
    json!({ "containers": [container("main", STAY, json!({}))] })
}

fn waiting() -> Value {
    let volume = json!([{ "name": "never", "configMap": { "name": "never" } }]);
    let mount = json!({ "volumeMounts": [{ "name": "never", "mountPath": "/never" }] });
    json!({ "containers": [container("main", STAY, mount)], "volumes": volume })
}

fn ready_since(pod: &Value) -> Result<String> {
    let conditions = pod["status"]["conditions"].as_array();
    let mut all = conditions.into_iter().flatten();
    let ready = all.find(|one| one["type"] == "Ready" && one["status"] == "True");
    let since = ready.and_then(|ready| ready["lastTransitionTime"].as_str());
    Ok(since.context("it is not ready")?.to_owned())
}
