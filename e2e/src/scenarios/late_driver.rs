//! The driver comes late: no library, then "not loaded" (NVML code 9), then "version mismatch" (18), then good. One agent
//! process throughout; CPU pods run at every stage, the reason follows, and eight GPUs appear at the end.

use std::os::unix::fs::symlink;

use anyhow::{Context, Result, ensure};
use e2e::{Node, Setup, staying, until};

use super::{GPUS, POD_LIMIT, gpus_of, running, told};

pub(super) async fn run() -> Result<()> {
    let mut node = Node::start(Setup::with_gpus("h200x8")?).await?;
    let place = node.scratch("late")?.join("libnvidia-ml.so.1");
    let gpus = node.gpus.as_mut().context("the node has GPUs")?;
    let real = std::mem::replace(&mut gpus.library, place.clone());
    node.start_agent().await?;
    let process = node.agent.pid()?;
    node.agent.apply("gpu", &staying("gpu", GPUS))?;

    let mut reasons = vec![stage(&node, "no-library").await?];
    set_code(&node, "9")?;
    symlink(real, &place)?;
    reasons.push(stage(&node, "not-loaded").await?);
    set_code(&node, "18")?;
    reasons.push(stage(&node, "version-mismatch").await?);
    set_code(&node, "0")?;

    let api = node.agent.api()?;
    until("eight GPUs", POD_LIMIT, async || {
        let answer = api.gpus().await?;
        let state = answer.driver.map(|driver| driver.state).unwrap_or_default();
        ensure!(
            answer.gpus.len() == GPUS as usize && state == "ready",
            "{} GPUs, {state}",
            answer.gpus.len()
        );
        Ok(())
    })
    .await?;
    running(&node, "gpu").await?;
    ensure!(gpus_of(&node, "gpu").await?.len() == GPUS as usize);
    reasons.dedup();
    ensure!(
        reasons.len() == 3,
        "the waiting pod's reason did not follow: {reasons:?}"
    );
    node.agent.alive()?;
    ensure!(node.agent.pid()? == process);
    node.finish().await
}

/// Waits for the driver's state, then starts a CPU pod; gives what the waiting GPU pod says.
async fn stage(node: &Node, state: &str) -> Result<String> {
    let api = node.agent.api()?;
    until(
        &format!("the driver's state {state}"),
        POD_LIMIT,
        async || {
            let driver = api
                .node()
                .await?
                .driver
                .context("no word about the driver")?;
            ensure!(
                driver.state == state,
                "it is {}: {}",
                driver.state,
                driver.detail
            );
            Ok(())
        },
    )
    .await?;
    let cpu = format!("cpu-{state}");
    node.agent.apply(&cpu, &staying(&cpu, 0))?;
    running(node, &cpu).await?;
    let waiting = told(node, "gpu", &["Pending"]).await?;
    ensure!(!waiting.message.is_empty(), "{waiting:?}");
    Ok(waiting.message)
}

fn set_code(node: &Node, code: &str) -> Result<()> {
    let gpus = node.gpus.as_ref().context("the node has GPUs")?;
    gpus.gpusim(&["driver", "--init-code", code]).map(drop)
}
