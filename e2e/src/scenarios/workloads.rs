//! Workloads of a real control plane on one node: every kind of controller, init containers, sidecars, a debug container,
//! restart rules and image volumes. All of them converge, all are deleted, and nothing of theirs is left.

use anyhow::{Result, ensure};
use e2e::{Cluster, ClusterSetup};

mod deployment;
mod images;
mod jobs;
mod pods;
mod sets;

pub(super) async fn run() -> Result<()> {
    let cluster = Cluster::start(ClusterSetup::plain()?).await?;
    let (deployment, stateful, daemon, job, cron, mixed, rules, images) = tokio::join!(
        deployment::rolls(&cluster),
        sets::stateful(&cluster),
        sets::daemon(&cluster),
        jobs::indexed(&cluster),
        jobs::cron(&cluster),
        pods::mixed(&cluster),
        pods::restart_rules(&cluster),
        images::mounted(&cluster),
    );
    let outcomes = [
        ("Deployment", deployment),
        ("StatefulSet", stateful),
        ("DaemonSet", daemon),
        ("Job", job),
        ("CronJob", cron),
        ("init, sidecar and debug containers", mixed),
        ("restart rules", rules),
        ("image volumes", images),
    ];
    let failed: Vec<String> = outcomes
        .into_iter()
        .filter_map(|(name, outcome)| Some(format!("{name}: {:#}", outcome.err()?)))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    cluster.finish().await
}
