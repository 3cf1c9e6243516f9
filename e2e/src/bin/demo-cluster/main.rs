//! `demo-cluster`: a real control plane, a gpulet node that joins it, and a Deployment of GPU pods that kubectl scales.
//!
//!     demo-cluster     runs it; with DEMO_KEEP=1 everything stays up, and `demo stop` ends it
//!
//! GPUs are simulated behind NVIDIA's C interface unless this machine has NVIDIA's driver.
#![allow(clippy::print_stdout, reason = "showing is what a demo does")]

mod steps;

use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use e2e::{Cluster, ClusterSetup, Footprint, HOSTNAME, NODE, Setup, Software, User};
use tokio::signal::unix::{SignalKind, signal};

/// The node's name: one demo at a time on a machine.
const NAME: &str = "gpulet-demo";
/// NVIDIA's kernel driver, loaded, has this file.
const DRIVER: &str = "/proc/driver/nvidia/version";
const PROFILE: &str = "h200x8";

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let outcome = match signal(SignalKind::interrupt()) {
        Ok(mut interrupt) => tokio::select! {
            outcome = show() => outcome,
            _ = interrupt.recv() => Err(anyhow::anyhow!("interrupted")),
        },
        Err(error) => Err(error.into()),
    };
    if let Err(error) = outcome {
        println!("\nThe demo failed: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

async fn show() -> Result<()> {
    let begin = Instant::now();
    // A demo that was left running makes room for this one.
    Footprint::of(NAME).remove()?;
    let real = Path::new(DRIVER).exists();
    let gpus = if real {
        "this machine's own GPUs"
    } else {
        "eight SIMULATED H200"
    };
    println!(
        "== gpulet in a cluster: {gpus}; control plane, containerd, cgroups and network are real"
    );
    println!("\nStarting etcd, API server, controllers, scheduler, containerd and gpulet ...");
    let cluster = Cluster::start(ClusterSetup {
        node: Setup {
            gpus: (!real).then_some(PROFILE),
            name: Some(NAME),
            direct: true,
            ..Setup::plain()?
        },
        software: Software::Gpulet,
        ..ClusterSetup::plain()?
    })
    .await?;
    println!(
        "The node is Ready after {:.1} s.",
        begin.elapsed().as_secs_f32()
    );
    let count = gpus_of_node(&cluster).await?;
    steps::kubectl(&cluster, &["get", "nodes", "-o", "wide"]).await?;
    steps::scale(&cluster, count).await?;
    println!("\nAll of this took {:.1} s.", begin.elapsed().as_secs_f32());
    if env::var_os("DEMO_KEEP").is_some_and(|value| value != "0") {
        return keep(cluster);
    }
    println!("Taking everything away ...");
    cluster.finish().await?;
    println!(
        "Everything is gone again: processes, mounts, cgroups, network links, folders.\n\
         To look around yourself: DEMO_KEEP=1 make demo-cluster"
    );
    Ok(())
}

/// Waits until the scheduler may count on the node's GPUs, and says how many there are.
async fn gpus_of_node(cluster: &Cluster) -> Result<u32> {
    println!("Waiting until the node offers its GPUs to the scheduler ...");
    let objects = cluster.objects();
    let count = objects.until(NODE, HOSTNAME, |node| {
        let count = node["status"]["allocatable"]["nvidia.com/gpu"]
            .as_str()
            .unwrap_or("0");
        match count.parse()? {
            0 => bail!("it offers none"),
            count => Ok(count),
        }
    });
    let count = count.await?;
    println!("It offers {count}.");
    Ok(count)
}

fn keep(cluster: Cluster) -> Result<()> {
    let gpuctl = cluster.node.bed().gpuctl()?;
    let kubectl = cluster.node.bed().controlplane("kubectl")?;
    println!(
        "\nIt all stays up (DEMO_KEEP). Look around:\n\
         \n  alias kubectl='nsenter --net=/run/netns/{NAME} {} --kubeconfig {}'\
         \n  alias gpuctl='{} --socket {}'\
         \n\nEnd it: make demo-stop",
        kubectl.display(),
        cluster.plane.kubeconfig(User::Admin).display(),
        gpuctl.display(),
        cluster.node.agent.socket().display(),
    );
    cluster.keep();
    Ok(())
}
