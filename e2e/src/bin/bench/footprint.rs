//! What the agent takes of the machine: processor time and memory, its children included.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use e2e::Agent;

/// Unit of the times in /proc/PID/stat: USER_HZ, which is 100 on every Linux that containerd runs on.
const TICKS: f64 = 100.0;

/// Cores that the agent keeps busy for so long.
pub(crate) async fn cores(agent: &Agent, window: Duration) -> Result<f64> {
    let (begin, before) = (Instant::now(), ticks(agent)?);
    // Idle time is what is measured.
    tokio::time::sleep(window).await;
    Ok((ticks(agent)? - before) / TICKS / begin.elapsed().as_secs_f64())
}

/// Proportional share of memory, in MiB.
pub(crate) fn memory(agent: &Agent) -> Result<f64> {
    let mut kilobytes = 0.0;
    for pid in family(agent)? {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let line = rollup
            .lines()
            .find(|line| line.starts_with("Pss:"))
            .context("a Pss line")?;
        kilobytes += line
            .split_whitespace()
            .nth(1)
            .context("its figure")?
            .parse::<f64>()?;
    }
    Ok(kilobytes / 1024.0)
}

/// The agent and its children.
fn family(agent: &Agent) -> Result<Vec<u32>> {
    let pid = agent.pid()?;
    let mut all = vec![pid];
    for thread in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        all.extend(
            children
                .split_whitespace()
                .filter_map(|child| child.parse::<u32>().ok()),
        );
    }
    Ok(all)
}

/// User and system time so far.
fn ticks(agent: &Agent) -> Result<f64> {
    let mut total = 0.0;
    for pid in family(agent)? {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // Fields 14 and 15; the name in field 2 may hold spaces, so they are counted from its end.
        let (_, rest) = stat.rsplit_once(')').context("a process's stat")?;
        let fields = rest.split_whitespace().skip(11).take(2);
        total += fields
            .filter_map(|field| field.parse::<f64>().ok())
            .sum::<f64>();
    }
    Ok(total)
}
