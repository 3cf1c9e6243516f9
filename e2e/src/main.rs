//! `e2e`: runs scenarios, each as a process of its own, and says how each ended.
//!
//!     e2e              all of them, E2E_JOBS at a time (2)
//!     e2e NAME...      these
//!     e2e --list       the names
//!
//! NODE=stock runs those with a control plane, with the stock kubelet in gpulet's place.
//!
//! Logs of every scenario go to `<target>/e2e/<name>/`. The last line is `scenarios: N passed, N failed, N skipped`; a
//! line `SKIP <name>: <reason>` stands for each skipped one. The exit code is 0 when none failed.
#![allow(clippy::print_stdout, reason = "the report is this program's output")]

mod runner;
mod scenarios;

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};
use e2e::Software;
use tokio::signal::unix::{SignalKind, signal};

use crate::scenarios::{SCENARIOS, Scenario};

/// Exit code of a scenario that was skipped.
const SKIPPED: u8 = 77;

/// Why a scenario cannot run on this machine; returned as its error.
#[derive(Debug)]
struct Skip(String);

impl std::fmt::Display for Skip {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

#[tokio::main]
async fn main() -> ExitCode {
    start().await.unwrap_or_else(|error| {
        println!("{error:#}");
        ExitCode::FAILURE
    })
}

async fn start() -> Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["--list"] => {
            SCENARIOS
                .iter()
                .for_each(|scenario| println!("{}", scenario.name));
            Ok(ExitCode::SUCCESS)
        }
        ["--run", name] => alone(find(name)?).await,
        [] => {
            let stock = Software::from_env()? == Software::Stock;
            let all = SCENARIOS.iter();
            runner::run(all.filter(|one| one.cluster || !stock).collect()).await
        }
        names => {
            let named: Vec<_> = names.iter().map(|name| find(name)).collect::<Result<_>>()?;
            let stock = Software::from_env()? == Software::Stock;
            if let Some(alone) = named.iter().find(|one| stock && !one.cluster) {
                bail!(
                    "{} has no control plane, which the stock kubelet needs",
                    alone.name
                );
            }
            runner::run(named).await
        }
    }
}

fn find(name: &str) -> Result<&'static Scenario> {
    let found = SCENARIOS.iter().find(|scenario| scenario.name == name);
    found.ok_or_else(|| anyhow::anyhow!("no scenario {name}; `e2e --list` names them"))
}

/// Runs one scenario in this process. A signal drops it, which tears its nodes down.
async fn alone(scenario: &Scenario) -> Result<ExitCode> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stdout)
        .with_ansi(false)
        .init();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let outcome = tokio::select! {
        outcome = (scenario.run)() => outcome,
        _ = interrupt.recv() => Err(anyhow::anyhow!("interrupted")),
        _ = terminate.recv() => Err(anyhow::anyhow!("terminated")),
    };
    let Err(error) = outcome else {
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(skip) = error.downcast_ref::<Skip>() {
        println!("{skip}");
        return Ok(ExitCode::from(SKIPPED));
    }
    println!("{}: {error:#}", scenario.name);
    Ok(ExitCode::FAILURE)
}
