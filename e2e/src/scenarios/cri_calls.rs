//! Calls that the agent makes to the runtime, counted: at most one beyond what a start or a stop needs, and none in an
//! idle second.

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::{Calls, Node, Setup, full_name, staying, until};

use super::{POD_LIMIT, gone, running, told};

/// What a pod of one container needs to start. That its image is there is known from the first pod, its address comes with
/// an event.
const START: [&str; 3] = ["RunPodSandbox", "CreateContainer", "StartContainer"];
/// What its end needs; the sandbox takes its dead containers along.
const STOP: [&str; 3] = ["StopContainer", "StopPodSandbox", "RemovePodSandbox"];
/// Calls beyond those.
const EXTRA: u64 = 1;
/// Long enough for a poll of any usual period to show; the slow relist may fall into it once.
const IDLE: Duration = Duration::from_secs(5);
/// What a full relist is.
const RELIST: [&str; 2] = ["ListPodSandbox", "ListContainers"];

pub(super) async fn run() -> Result<()> {
    let node = Node::with_agent(Setup::plain()?).await?;
    // The first pod also pays for what is asked once in a process's life.
    start(&node, "warm").await?;
    node.proxy.take_calls();

    start(&node, "counted").await?;
    within(&START, &node.proxy.take_calls(), "a start")?;

    // Not a wait for a fact: the absence of calls is what is measured.
    tokio::time::sleep(IDLE).await;
    let idle = node.proxy.take_calls();
    let only_one_relist = idle
        .iter()
        .all(|(name, n)| RELIST.contains(&name.as_str()) && *n <= 1);
    ensure!(
        only_one_relist,
        "in {} idle seconds: {idle:?}",
        IDLE.as_secs()
    );

    node.agent.remove("counted")?;
    gone(&node, "counted").await?;
    until("the removal of the dead pod", POD_LIMIT, async || {
        let left = node.cri().of_pod(&full_name("counted")).await?;
        ensure!(left.is_empty(), "{} containers are left", left.len());
        Ok(())
    })
    .await?;
    within(&STOP, &node.proxy.take_calls(), "a stop")?;
    node.finish().await
}

/// Starts a pod and waits until the agent itself says that it runs, for only then are its calls complete.
async fn start(node: &Node, name: &str) -> Result<()> {
    node.agent.apply(name, &staying(name, 0))?;
    running(node, name).await?;
    told(node, name, &["Running"]).await.map(drop)
}

fn within(needed: &[&str], calls: &Calls, what: &str) -> Result<()> {
    let all: u64 = calls.values().sum();
    let surplus = all.saturating_sub(
        needed
            .iter()
            .filter(|name| calls.contains_key(**name))
            .count() as u64,
    );
    ensure!(
        surplus <= EXTRA,
        "{what} made {surplus} calls that it did not need: {calls:?}"
    );
    Ok(())
}
