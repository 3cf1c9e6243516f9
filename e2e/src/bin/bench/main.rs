//! `bench`: what gpulet costs beside the bare CRI calls, measured alternately in one run on one node: alone with
//! manifests, and beside an idle control plane with pods from it.
//!
//! Prints medians, ratios and whether each target is met, and writes every raw sample to a file. The exit code is 0
//! whether or not they are met: a figure of a loaded machine is no test. `ROW=name` measures one group of rows;
//! `STOCK=1` measures the stock kubelet as well, on the same node and control plane, in turn with gpulet. Needs a
//! release build (`make bench` makes it). GPUs are simulated; no figure here is a GPU's.
#![allow(clippy::print_stdout, reason = "the figures are this program's output")]

mod cluster;
mod footprint;
mod idle;
mod report;
mod start;

use std::env;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use e2e::{Bed, Node, PREFIX, Setup, sweep};

/// Groups of rows, in the order of measuring. The first two have no control plane.
const GROUPS: [&str; 5] = ["manifest", "manifest-idle", "pod", "burst", "idle"];

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    if let Err(error) = run().await {
        println!("{error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

async fn run() -> Result<()> {
    let one = env::var("ROW").unwrap_or_default();
    ensure!(
        one.is_empty() || GROUPS.contains(&one.as_str()),
        "ROW is {one:?}; it takes one of {}",
        GROUPS.join(", ")
    );
    let wanted = |group: &str| one.is_empty() || one == group;
    sweep(PREFIX)?;
    let mut rows = Vec::new();
    if wanted("manifest") || wanted("manifest-idle") {
        let node = Node::with_agent(Setup::with_gpus("h200x8")?).await?;
        if wanted("manifest") {
            rows.extend(start::measure(&node).await?);
        }
        if wanted("manifest-idle") {
            rows.extend(idle::measure(&node).await?);
        }
        node.finish().await?;
    }
    if wanted("pod") || wanted("burst") || wanted("idle") {
        let stock = env::var("STOCK").is_ok_and(|value| value == "1");
        rows.extend(cluster::measure(wanted, stock).await?);
    }
    report::print(&rows, &Bed::find()?.target().join("bench/samples.jsonl"))
}
