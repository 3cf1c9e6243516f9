//! How a container is watched and how it is begun and ended: probes of all kinds, hooks, grace, the order of the end,
//! last words, and restarts. Many pods beside each other, each about one of these.

use anyhow::{Result, ensure};
use e2e::{Cluster, ClusterSetup};
use serde_json::{Value, json};

mod ends;
mod hooks;
mod liveness;
mod messages;
mod readiness;
mod requests;
mod restarts;
mod startup;

/// The longest pause between two restarts, in seconds; Kubernetes 1.37 begins with it when it is below 10.
const PAUSE: u64 = 3;

pub(super) async fn run() -> Result<()> {
    let setup = ClusterSetup {
        kubelet: json!({ "crashLoopBackOff": { "maxContainerRestartPeriod": format!("{PAUSE}s") } }),
        ..ClusterSetup::plain()?
    };
    let cluster = Cluster::start(setup).await?;
    let (readiness, startup, liveness, hooks, ends, messages, restarts) = tokio::join!(
        readiness::check(&cluster),
        startup::check(&cluster),
        liveness::check(&cluster),
        hooks::check(&cluster),
        ends::check(&cluster),
        messages::check(&cluster),
        restarts::check(&cluster),
    );
    let outcomes = [
        ("readiness", readiness),
        ("startup", startup),
        ("liveness", liveness),
        ("hooks", hooks),
        ("ends", ends),
        ("messages", messages),
        ("restarts", restarts),
    ];
    let failed: Vec<String> = outcomes
        .into_iter()
        .filter_map(|(name, outcome)| Some(format!("{name}: {:#}", outcome.err()?)))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    cluster.finish().await
}

/// Id of the running container `main`.
async fn main_of(cluster: &Cluster, pod: &str) -> Result<String> {
    Ok(cluster.node.cri().running(pod, "main").await?.id)
}

/// Status of a container by its name; null when there is none.
fn status<'a>(pod: &'a Value, container: &str) -> &'a Value {
    let all = pod["status"]["containerStatuses"].as_array();
    let mut all = all.into_iter().flatten();
    all.find(|one| one["name"] == container)
        .unwrap_or(&Value::Null)
}

fn exec(line: &str) -> Value {
    json!({ "exec": { "command": ["/bin/sh", "-c", line] } })
}

/// A probe that looks once a second and believes what it sees at once.
fn quick(mut probe: Value) -> Value {
    probe["periodSeconds"] = json!(1);
    probe["failureThreshold"] = json!(1);
    probe
}
