//! A hang costs what hangs and no more: a call on GPU 5, then the whole probe child, then the library's own lock. Pods
//! without GPU 5 start, CPU pods never notice, gpuctl names what is lost, and SIGTERM ends the agent each time.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};
use e2e::{Gpus, Node, Seen, Setup, full_name, staying, until};
use rustix::process::{Pid, Signal, kill_process};

use super::{GPUS, POD_LIMIT, gone, gpus_of, running, told};

/// The GPU whose calls block first.
const HUNG: u32 = 5;

pub(super) async fn run() -> Result<()> {
    let mut node = Node::with_agent(Setup::with_gpus("h200x8")?).await?;
    let api = node.agent.api()?;
    until("eight healthy GPUs", POD_LIMIT, async || {
        states(&api, "healthy", GPUS as usize).await
    })
    .await?;
    node.agent.apply("cpu", &staying("cpu", 0))?;
    running(&node, "cpu").await?;
    let before = cpu(&node).await?;

    one_call_blocks(&node)
        .await
        .context("a call on GPU 5 blocks")?;
    restart(&mut node, &before)
        .await
        .context("a call on GPU 5 blocks")?;
    gpus(&node)?.gpusim(&["clear"])?;
    driver(&node, "ready").await?;

    child_is_frozen(&node)
        .await
        .context("the probe child is frozen")?;
    restart(&mut node, &before)
        .await
        .context("the probe child is frozen")?;

    driver(&node, "ready").await?;

    library_is_locked(&node)
        .await
        .context("the library's lock is held")?;
    restart(&mut node, &before)
        .await
        .context("the library's lock is held")?;
    node.finish().await
}

async fn one_call_blocks(node: &Node) -> Result<()> {
    gpus(node)?.gpusim(&["hang", "*", "--gpu", &HUNG.to_string()])?;
    gpus(node)?.sign()?;
    let api = node.agent.api()?;
    until("GPU 5 alone to be unresponsive", POD_LIMIT, async || {
        let lost: Vec<u32> = api
            .gpus()
            .await?
            .gpus
            .iter()
            .filter(|g| state(g) == "unresponsive")
            .map(|g| g.minor)
            .collect();
        ensure!(lost == [HUNG], "{lost:?} are");
        Ok(())
    })
    .await?;
    let health = node.agent.gpuctl(&["health"])?;
    let text = String::from_utf8_lossy(&health.stdout);
    let named = text.lines().any(|line| {
        line.contains(&HUNG.to_string()) && line.to_lowercase().contains("unresponsive")
    });
    ensure!(named, "gpuctl health says {text}");

    node.agent.apply("seven", &staying("seven", GPUS - 1))?;
    running(node, "seven").await?;
    let others: BTreeSet<u32> = (0..GPUS).filter(|minor| *minor != HUNG).collect();
    ensure!(gpus_of(node, "seven").await? == others);
    node.agent.apply("eighth", &staying("eighth", 1))?;
    told(node, "eighth", &["Pending", "DevicesBusy", "are free"]).await?;
    for name in ["seven", "eighth"] {
        node.agent.remove(name)?;
        gone(node, name).await?;
    }
    cpu_pods_start(node, "hung").await
}

async fn child_is_frozen(node: &Node) -> Result<()> {
    let agent = node.agent.pid()?;
    let child = until("the probe child", POD_LIMIT, async || {
        let children = fs::read_dir(format!("/proc/{agent}/task"))?.flatten();
        let children =
            children.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let pids: Vec<i32> = children
            .flat_map(|line| {
                line.split(' ')
                    .filter_map(|pid| pid.parse().ok())
                    .collect::<Vec<_>>()
            })
            .collect();
        pids.first().copied().context("the agent has no child")
    })
    .await?;
    kill_process(Pid::from_raw(child).context("a pid")?, Signal::STOP)?;
    pods_start(node, "frozen").await?;
    let api = node.agent.api()?;
    until("the event about the frozen child", POD_LIMIT, async || {
        let events = api.events().await?;
        ensure!(
            events.iter().any(|event| event.message.contains("frozen")),
            "{events:?}"
        );
        Ok(())
    })
    .await
}

async fn library_is_locked(node: &Node) -> Result<()> {
    gpus(node)?.gpusim(&["lock"])?;
    gpus(node)?.sign()?;
    driver(node, "unresponsive").await?;
    pods_start(node, "locked").await?;
    let health = node.agent.gpuctl(&["health"])?;
    let text = String::from_utf8_lossy(&health.stdout).to_lowercase();
    ensure!(text.contains("unresponsive"), "gpuctl health says {text}");
    Ok(())
}

/// Waits for the driver's state and, when it is ready, until each of its GPUs was read: before that an agent knows them
/// from its journal only, and gives none away.
async fn driver(node: &Node, wanted: &str) -> Result<()> {
    let api = node.agent.api()?;
    until(
        &format!("the driver to be {wanted}"),
        POD_LIMIT,
        async || {
            let answer = api.gpus().await?;
            let state = answer.driver.context("no word about the driver")?.state;
            let read = |gpu: &&proto::gpulet::Gpu| wanted != "ready" || gpu.reading.is_some();
            let gpus = answer.gpus.iter().filter(read).count();
            ensure!(
                state == wanted && gpus == GPUS as usize,
                "it is {state} and has {gpus} GPUs"
            );
            Ok(())
        },
    )
    .await
}

/// Pods with and without GPUs start, whatever NVML does.
async fn pods_start(node: &Node, name: &str) -> Result<()> {
    cpu_pods_start(node, name).await?;
    let two = format!("two-{name}");
    node.agent.apply(&two, &staying(&two, 2))?;
    running(node, &two).await?;
    ensure!(gpus_of(node, &two).await?.len() == 2);
    node.agent.remove(&two)?;
    gone(node, &two).await
}

async fn cpu_pods_start(node: &Node, name: &str) -> Result<()> {
    let name = format!("cpu-{name}");
    node.agent.apply(&name, &staying(&name, 0))?;
    running(node, &name).await?;
    node.agent.remove(&name)?;
    gone(node, &name).await
}

/// SIGTERM ends the agent, its child with it; the next one finds the CPU pod as it was.
async fn restart(node: &mut Node, before: &Seen) -> Result<()> {
    node.agent.stop().await?;
    let left: Vec<String> = node
        .footprint()
        .traces()
        .into_iter()
        .filter(|line| line.contains("gpulet --") || line.contains("probe"))
        .collect();
    ensure!(left.is_empty(), "{left:?} outlived the agent");
    node.start_agent().await?;
    ensure!(cpu(node).await? == *before);
    Ok(())
}

async fn cpu(node: &Node) -> Result<Seen> {
    let name = full_name("cpu");
    node.cri()
        .seen()
        .await?
        .into_iter()
        .find(|seen| seen.pod == name)
        .context("the CPU pod")
}

async fn states(api: &e2e::Api, wanted: &str, count: usize) -> Result<()> {
    let gpus = api.gpus().await?.gpus;
    let found = gpus.iter().filter(|gpu| state(gpu) == wanted).count();
    ensure!(found == count, "{found} of {} are {wanted}", gpus.len());
    Ok(())
}

fn state(gpu: &proto::gpulet::Gpu) -> &str {
    gpu.health.as_ref().map_or("", |health| &health.state)
}

fn gpus(node: &Node) -> Result<&Gpus> {
    node.gpus.as_ref().context("the node has GPUs")
}
