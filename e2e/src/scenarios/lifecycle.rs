//! A pod's life in all its parts, each a pod or two of its own, side by side on one node.

use anyhow::{Result, ensure};
use e2e::{Node, Setup};

use super::diary::Diary;

mod backoff;
mod gpus;
mod hooks;
mod network;
mod order;
mod probes;
mod volumes;

pub(super) async fn run() -> Result<()> {
    let node = Node::with_agent(Setup::with_gpus("h200x8")?).await?;
    let (order, hooks, backoff, probes, network, volumes, gpus) = tokio::join!(
        order::check(&node),
        hooks::check(&node),
        backoff::check(&node),
        probes::check(&node),
        network::check(&node),
        volumes::check(&node),
        gpus::check(&node),
    );
    let outcomes = [
        ("order", order),
        ("hooks", hooks),
        ("back-off", backoff),
        ("probes", probes),
        ("network", network),
        ("volumes", volumes),
        ("GPUs", gpus),
    ];
    let failed: Vec<String> = outcomes
        .into_iter()
        .filter_map(|(name, outcome)| Some(format!("{name}: {:#}", outcome.err()?)))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    node.finish().await
}
