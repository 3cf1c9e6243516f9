//! Starts scenarios as processes, a bounded number at a time, and counts how they end.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, io};

use anyhow::{Context, Result};
use e2e::{Bed, PREFIX, tail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::SKIPPED;
use crate::scenarios::Scenario;

/// Two cores run two nodes well: most of a scenario is waiting for containers.
const JOBS: usize = 2;
/// The longest scenario takes about a minute alone.
const LIMIT: Duration = Duration::from_secs(300);
/// LONG=1 makes some scenarios longer.
const LONG_LIMIT: Duration = Duration::from_secs(900);
/// What a scenario that was told to end gets for its clean-up.
const GRACE: Duration = Duration::from_secs(30);

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

struct Ended {
    name: &'static str,
    took: Duration,
    folder: PathBuf,
    outcome: Outcome,
}

/// Runs the scenarios and prints a line for each.
pub(crate) async fn run(scenarios: Vec<&'static Scenario>) -> Result<ExitCode> {
    let bed = Bed::find()?;
    e2e::sweep(PREFIX)?;
    e2e::archives(&bed.images())?;
    let jobs = env::var("E2E_JOBS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(JOBS);
    let mut waiting: VecDeque<_> = scenarios.into();
    let mut running = JoinSet::new();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    loop {
        while running.len() < jobs
            && let Some(scenario) = waiting.pop_front()
        {
            running.spawn(one(
                scenario.name,
                bed.target().join("e2e").join(scenario.name),
            ));
        }
        let Some(ended) = running.join_next().await else {
            break;
        };
        let Ended {
            name,
            took,
            folder,
            outcome,
        } = ended??;
        let seconds = took.as_secs_f32();
        match outcome {
            Outcome::Passed => {
                passed += 1;
                println!("ok    {name}  {seconds:.1} s");
            }
            Outcome::Skipped(reason) => {
                skipped += 1;
                println!("SKIP {name}: {reason}");
            }
            Outcome::Failed(how) => {
                failed += 1;
                println!(
                    "FAIL  {name}  {seconds:.1} s: {how}; logs in {}",
                    folder.display()
                );
                println!("{}", tail(&folder.join("scenario.log"), 60));
                if how == INTERRUPTED {
                    waiting.clear();
                }
            }
        }
    }
    // A scenario that had to be killed could not clean up.
    if let Err(error) = e2e::sweep(PREFIX) {
        failed += 1;
        println!("FAIL  clean-up: {error:#}");
    }
    println!("scenarios: {passed} passed, {failed} failed, {skipped} skipped");
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

const INTERRUPTED: &str = "interrupted";

async fn one(name: &'static str, folder: PathBuf) -> Result<Ended> {
    let begin = Instant::now();
    let mut child = start(name, &folder)?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let long = env::var("LONG").is_ok_and(|long| long == "1");
    let limit = if long { LONG_LIMIT } else { LIMIT };
    let outcome = tokio::select! {
        status = child.wait() => match status?.code() {
            Some(0) => Outcome::Passed,
            Some(code) if code == i32::from(SKIPPED) => {
                Outcome::Skipped(tail(&folder.join("scenario.log"), 1))
            }
            Some(code) => Outcome::Failed(format!("exit code {code}")),
            None => Outcome::Failed("killed by a signal".to_owned()),
        },
        () = tokio::time::sleep(limit) => {
            Outcome::Failed(format!("not done after {} s", limit.as_secs()))
        }
        _ = interrupt.recv() => Outcome::Failed(INTERRUPTED.to_owned()),
        _ = terminate.recv() => Outcome::Failed(INTERRUPTED.to_owned()),
    };
    end(&mut child).await?;
    Ok(Ended {
        name,
        took: begin.elapsed(),
        folder,
        outcome,
    })
}

fn start(name: &str, folder: &Path) -> Result<Child> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => fs::create_dir_all(folder)?,
    }
    let log = File::create(folder.join("scenario.log"))?;
    let mut command = Command::new(env::current_exe()?);
    command
        .args(["--run", name])
        .env("E2E_OUT", folder)
        .env("RUST_BACKTRACE", "1");
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    command
        .spawn()
        .with_context(|| format!("starting the scenario {name}"))
}

/// Ends a scenario that still runs, kindly at first.
async fn end(child: &mut Child) -> Result<()> {
    let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) else {
        return Ok(());
    };
    kill_process(pid, Signal::TERM)?;
    if timeout(GRACE, child.wait()).await.is_err() {
        child.kill().await?;
    }
    Ok(())
}
