//! What the demo does and shows, step by step.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use e2e::{
    Cluster, DEPLOYMENT, POD, STAY, container, deployment, ensure_ready, gpu_limit, openable,
};
use serde_json::{Value, json};

const NAME: &str = "trainer";

/// Runs kubectl and shows it as it would be typed.
pub(crate) async fn kubectl(cluster: &Cluster, arguments: &[&str]) -> Result<()> {
    println!("\n$ kubectl {}", arguments.join(" "));
    print!("{}", cluster.kubectl.run(arguments).await?);
    Ok(())
}

fn gpuctl(cluster: &Cluster, arguments: &[&str]) -> Result<()> {
    println!("\n$ gpuctl {}", arguments.join(" "));
    print!("{}", cluster.node.agent.gpuctl_text(arguments)?);
    Ok(())
}

/// A Deployment of pods with one GPU each: two, then all GPUs and one pod too many, then one.
pub(crate) async fn scale(cluster: &Cluster, count: u32) -> Result<()> {
    let main = container("main", STAY, gpu_limit(1));
    let begin = count.min(2);
    println!("\n== A Deployment of {begin} pods, each with one GPU");
    let trainer = deployment(NAME, begin, json!({ "containers": [main] }));
    print!("{}", cluster.kubectl.apply(&trainer.to_string()).await?);
    ready(cluster, begin).await?;
    gpuctl(cluster, &["pods"])?;
    opened(cluster, count).await?;

    println!("\n== One pod more than there are GPUs: it waits, and the scheduler says why");
    set(cluster, count + 1).await?;
    let waiting = cluster.objects().until_all(POD, "app=trainer", |pods| {
        let waiting = pods.iter().find_map(unschedulable);
        let (name, why) = waiting.context("no pod waits")?;
        let running = pods
            .iter()
            .filter(|pod| pod["status"]["phase"] == "Running")
            .count();
        ensure!(running == count as usize, "{running} run");
        Ok((name, why))
    });
    let (name, why) = waiting.await?;
    println!("  {name}: {why}");
    gpuctl(cluster, &["pods"])?;
    gpuctl(cluster, &["list"])?;
    opened(cluster, count).await?;

    println!("\n== Down to one: the others' GPUs are free again");
    set(cluster, 1).await?;
    ready(cluster, 1).await?;
    cluster
        .objects()
        .until_all(POD, "app=trainer", |pods| {
            ensure!(pods.len() == 1, "{} pods", pods.len());
            Ok(())
        })
        .await?;
    gpuctl(cluster, &["pods"])?;
    kubectl(cluster, &["get", "pods"]).await
}

async fn set(cluster: &Cluster, replicas: u32) -> Result<()> {
    let replicas = format!("--replicas={replicas}");
    kubectl(cluster, &["scale", "deployment/trainer", &replicas]).await
}

/// Waits for the Deployment and says how far it is whenever that changes.
async fn ready(cluster: &Cluster, count: u32) -> Result<()> {
    let mut told = None;
    cluster
        .objects()
        .until(DEPLOYMENT, NAME, |trainer| {
            let ready = trainer["status"]["readyReplicas"]
                .as_u64()
                .unwrap_or_default();
            if told != Some(ready) {
                println!("  {ready} ready");
                told = Some(ready);
            }
            ensure_ready(trainer, count)
        })
        .await
}

fn unschedulable(pod: &Value) -> Option<(String, String)> {
    let conditions = pod["status"]["conditions"].as_array()?;
    let why = conditions
        .iter()
        .find(|one| one["reason"] == "Unschedulable")?["message"]
        .as_str();
    Some((
        pod["metadata"]["name"].as_str()?.to_owned(),
        why?.to_owned(),
    ))
}

/// Lets every container make and open every GPU's device node.
///
/// # Errors
/// When a container may open another number than one, or two the same.
async fn opened(cluster: &Cluster, count: u32) -> Result<()> {
    println!("\nEvery container makes the device nodes of all GPUs and tries to open each:");
    let mut taken = BTreeSet::new();
    let cri = cluster.node.cri();
    for pod in cri.ready_pods().await? {
        let open = openable(cri, &cri.running(&pod, "main").await?.id, count).await?;
        println!("  {pod} may open {open:?}");
        ensure!(
            open.len() == 1,
            "{pod} asked for one GPU and may open {open:?}"
        );
        ensure!(taken.is_disjoint(&open), "{pod} shares a GPU");
        taken.extend(open);
    }
    Ok(())
}
