//! `bench`: what gpulet costs beside the bare CRI calls, measured alternately in one run on one node.
//!
//! Prints every raw sample, medians, ratios and whether each target is met. The exit code is 0 whether or not they
//! are: a figure of a loaded machine is no test. Needs a release build (`make bench` makes it). GPUs are simulated; no
//! figure here is a GPU's.
#![allow(clippy::print_stdout, reason = "the figures are this program's output")]

mod idle;
mod report;
mod start;

use std::process::ExitCode;

use anyhow::Result;
use e2e::{Node, PREFIX, Setup, sweep};

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
    sweep(PREFIX)?;
    let node = Node::with_agent(Setup::with_gpus("h200x8")?).await?;
    let mut rows = start::measure(&node).await?;
    rows.extend(idle::measure(&node).await?);
    report::print(&rows);
    node.finish().await
}
