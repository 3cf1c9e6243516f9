//! What gpulet costs when nothing happens: processor, memory and calls, with 50 pods.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Node, staying, until};

use crate::report::Row;

const PODS: usize = 50;
const LIMIT: Duration = Duration::from_secs(120);
/// A window of idle time, and how many.
const WINDOW: Duration = Duration::from_secs(20);
const WINDOWS: usize = 3;
/// Unit of the times in /proc/PID/stat: USER_HZ, which is 100 on every Linux that containerd runs on.
const TICKS: f64 = 100.0;
/// A relist is two calls; in a window of 20 s there is at most one.
const CALLS: f64 = 2.0;

pub(crate) async fn measure(node: &Node) -> Result<Vec<Row>> {
    for n in 0..PODS {
        let name = format!("idle-{n}");
        node.agent.apply(&name, &staying(&name, 0))?;
    }
    let api = node.agent.api()?;
    until("50 running pods", LIMIT, async || {
        let running = api
            .pods()
            .await?
            .iter()
            .filter(|pod| pod.phase == "Running")
            .count();
        ensure!(running == PODS, "{running} run");
        Ok(())
    })
    .await?;
    let row = |what, target| Row {
        what,
        gpulet: Vec::new(),
        bare: Vec::new(),
        target,
    };
    let mut processor = row("idle with 50 pods: processor, cores", 0.02);
    let mut memory = row("idle with 50 pods: PSS with the probe child, MiB", 30.0);
    let mut calls = row("idle with 50 pods: CRI calls in 20 s", CALLS);
    for _ in 0..WINDOWS {
        node.proxy.take_calls();
        let (begin, before) = (Instant::now(), ticks(node)?);
        // Idle time is what is measured.
        tokio::time::sleep(WINDOW).await;
        let used = (ticks(node)? - before) / TICKS;
        processor.gpulet.push(used / begin.elapsed().as_secs_f64());
        memory.gpulet.push(pss(node)?);
        calls
            .gpulet
            .push(node.proxy.take_calls().values().sum::<u64>() as f64);
    }
    Ok(vec![processor, memory, calls])
}

/// The agent and its children.
fn family(node: &Node) -> Result<Vec<u32>> {
    let pid = node.agent.pid()?;
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
fn ticks(node: &Node) -> Result<f64> {
    let mut total = 0.0;
    for pid in family(node)? {
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

fn pss(node: &Node) -> Result<f64> {
    let mut kilobytes = 0.0;
    for pid in family(node)? {
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
