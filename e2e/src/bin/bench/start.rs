//! A pod's start and stop, one by gpulet and one by bare calls in turn, and the calls that gpulet made.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use e2e::{Bare, Node, full_name, staying, until};

use crate::report::Row;

/// Pairs of samples.
const ROUNDS: u32 = 20;
const LIMIT: Duration = Duration::from_secs(30);
/// Image lookup and the pod's address, beside sandbox, create and start; container and sandbox stopped and removed.
const START_CALLS: f64 = 5.0;
const STOP_CALLS: f64 = 4.0;

pub(crate) async fn measure(node: &Node) -> Result<Vec<Row>> {
    // Through the same proxy, so that its cost is in both.
    let mut bare = Bare::connect(node.proxy.socket(), node.footprint())?;
    let row = |what, target| Row {
        what,
        gpulet: Vec::new(),
        bare: Vec::new(),
        target,
    };
    let mut start = row("pod start: manifest to running container, ms", 1.15);
    let mut stop = row("pod stop: manifest gone to sandbox gone, ms", 1.25);
    let mut start_calls = row("CRI calls of a start", START_CALLS + 1.0);
    let mut stop_calls = row("CRI calls of a stop", STOP_CALLS + 1.0);
    for round in 0..=ROUNDS {
        let warm_up = round == 0;
        let name = format!("bench-{round}");
        let begin = now()?;
        let pod = bare.start(&name, &[]).await?;
        let started = node.cri().status(&pod.container).await?.started_at;
        let bare_start = milliseconds(started - begin);
        let begin = Instant::now();
        bare.remove(pod).await?;
        let bare_stop = begin.elapsed().as_secs_f64() * 1e3;

        node.proxy.take_calls();
        let (own_start, calls) = start_one(node, &name).await?;
        let (own_stop, calls_of_stop) = stop_one(node, &name).await?;
        if !warm_up {
            start.bare.push(bare_start);
            stop.bare.push(bare_stop);
            start.gpulet.push(own_start);
            stop.gpulet.push(own_stop);
            start_calls.gpulet.push(calls);
            stop_calls.gpulet.push(calls_of_stop);
        }
    }
    Ok(vec![start, stop, start_calls, stop_calls])
}

async fn start_one(node: &Node, name: &str) -> Result<(f64, f64)> {
    let begin = now()?;
    node.agent.apply(name, &staying(name, 0))?;
    let full = full_name(name);
    let id = until("the container", LIMIT, async || {
        Ok(node.cri().running(&full, "main").await?.id)
    });
    let started = node.cri().status(&id.await?).await?.started_at;
    let api = node.agent.api()?;
    until("the agent's own word", LIMIT, async || {
        let pod = api.pod(name).await?;
        ensure!(pod.phase == "Running", "{pod:?}");
        Ok(())
    })
    .await?;
    Ok((milliseconds(started - begin), total(node)))
}

async fn stop_one(node: &Node, name: &str) -> Result<(f64, f64)> {
    let full = full_name(name);
    let begin = Instant::now();
    node.agent.remove(name)?;
    // Asked without a pause: the usual wait would look only every 25 ms.
    while node
        .cri()
        .sandboxes()
        .await?
        .iter()
        .any(|s| s.metadata.as_ref().is_some_and(|m| m.name == full))
    {
        ensure!(begin.elapsed() < LIMIT, "{full} is still there");
    }
    Ok((begin.elapsed().as_secs_f64() * 1e3, total(node)))
}

/// Calls since the last count.
fn total(node: &Node) -> f64 {
    node.proxy
        .take_calls()
        .values()
        .map(|count| *count as f64)
        .sum()
}

fn now() -> Result<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    i64::try_from(since.as_nanos()).context("the clock is far in the future")
}

fn milliseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}
