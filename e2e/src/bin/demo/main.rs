//! `demo`: GPU pods on real containerd, on any machine. It shows who has which GPU and proves it from inside the
//! containers.
//!
//!     demo             runs it; with DEMO_KEEP=1 everything stays up afterwards
//!     demo stop        ends what DEMO_KEEP=1 left
//!
//! GPUs are simulated behind NVIDIA's C interface unless this machine has NVIDIA's driver.
#![allow(clippy::print_stdout, reason = "showing is what a demo does")]

mod machine;
mod table;

use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use e2e::{Footprint, Node, Setup, full_name, staying, until};
use tokio::signal::unix::{SignalKind, signal};

use machine::Machine;

/// The node's name: one demo at a time on a machine.
const NAME: &str = "gpulet-demo";
const POD_LIMIT: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [] => start().await,
        ["stop"] => stop(),
        _ => bail_usage(),
    };
    if let Err(error) = outcome {
        println!("\nThe demo failed: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn bail_usage() -> Result<()> {
    bail!("usage: demo [stop]")
}

fn stop() -> Result<()> {
    Footprint::of(NAME).remove()?;
    println!("Everything of the demo is gone.");
    Ok(())
}

async fn start() -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        outcome = show() => outcome,
        _ = interrupt.recv() => bail!("interrupted"),
    }
}

async fn show() -> Result<()> {
    let begin = Instant::now();
    // A demo that was left running makes room for this one.
    Footprint::of(NAME).remove()?;
    let machine = Machine::look()?;
    println!("== gpulet demo: {}", machine.describe());
    let setup = Setup {
        gpus: machine.profile(),
        name: Some(NAME),
        direct: true,
        ..Setup::plain()?
    };
    let node = Node::with_agent(setup).await?;
    println!(
        "\n== containerd {} and gpulet run",
        node.cri().version().await?
    );
    let count = until("the GPUs", POD_LIMIT, async || {
        let gpus = node.agent.api()?.gpus().await?.gpus;
        gpus.iter()
            .map(|gpu| gpu.minor + 1)
            .max()
            .context("the agent sees no GPU yet")
    })
    .await?;
    table::ask(&node, &["status"])?;
    table::ask(&node, &["list"])?;
    share(&node, count).await?;
    println!("\nAll of this took {:.1} s.", begin.elapsed().as_secs_f32());
    if env::var_os("DEMO_KEEP").is_some_and(|value| value != "0") {
        table::how_to_look(&node, &machine)?;
        node.keep();
        return Ok(());
    }
    node.finish().await?;
    println!(
        "Everything is gone again: processes, mounts, cgroups, network links, folders.\n\
         To look around yourself: DEMO_KEEP=1 make demo"
    );
    Ok(())
}

/// Pods with 1, 2 and 4 GPUs, another one that waits, and what each may open.
async fn share(node: &Node, count: u32) -> Result<()> {
    let plan = machine::plan(count);
    let names: Vec<String> = plan
        .running
        .iter()
        .map(|gpus| format!("has-{gpus}"))
        .collect();
    println!(
        "\n== Pods from manifests that ask for {:?} GPUs",
        plan.running
    );
    for (name, gpus) in names.iter().zip(&plan.running) {
        node.agent.apply(name, &staying(name, *gpus))?;
        running(node, name).await?;
    }
    table::ask(node, &["pods"])?;
    table::opened(node, &names, &plan.running, count).await?;

    let waiting = format!("wants-{}", plan.waiting);
    println!("\n== One more, {waiting}: too few are free, so it waits and says why");
    node.agent
        .apply(&waiting, &staying(&waiting, plan.waiting))?;
    until("its reason", POD_LIMIT, async || {
        let pod = node.agent.api()?.pod(&waiting).await?;
        ensure!(pod.phase == "Pending" && !pod.message.is_empty(), "{pod:?}");
        Ok(())
    })
    .await?;
    table::ask(node, &["explain", "pod", &full_name(&waiting)])?;

    let (ends, stay) = names.split_last().context("a pod runs")?;
    println!("\n== {ends} ends, so {waiting} starts");
    node.agent.remove(ends)?;
    running(node, &waiting).await?;
    table::ask(node, &["pods"])?;
    table::ask(node, &["list"])?;
    let now: Vec<String> = stay.iter().chain([&waiting]).cloned().collect();
    let sizes: Vec<u32> = plan
        .running
        .iter()
        .copied()
        .take(stay.len())
        .chain([plan.waiting])
        .collect();
    table::opened(node, &now, &sizes, count).await
}

async fn running(node: &Node, pod: &str) -> Result<()> {
    let name = full_name(pod);
    until(&format!("{name} to run"), POD_LIMIT, async || {
        node.cri().running(&name, "main").await?;
        let told = node.agent.api()?.pod(pod).await?;
        ensure!(told.phase == "Running", "{told:?}");
        Ok(())
    })
    .await
}
