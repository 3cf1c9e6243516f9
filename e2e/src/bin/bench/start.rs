//! A pod's start and stop by its manifest, one by gpulet and one by bare calls in turn, and the calls that gpulet made.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use e2e::{Bare, Node, full_name, staying, until};
use proto::cri::{ContainerEventType, GetEventsRequest};
use tokio::time::timeout;

use crate::report::{Row, Target};

/// Pairs of samples.
const ROUNDS: u32 = 20;
const LIMIT: Duration = Duration::from_secs(30);
/// Sandbox, create, start.
const START_CALLS: f64 = 3.0;
/// Container stopped, sandbox stopped and removed.
const STOP_CALLS: f64 = 3.0;

pub(crate) async fn measure(node: &Node) -> Result<Vec<Row>> {
    // Through the same proxy, so that its cost is in both.
    let mut bare = Bare::connect(node.proxy.socket(), node.footprint())?;
    let mut start = Row::new("manifest -> running container, ms", Target::TimesBare(1.15));
    let mut stop = Row::new("manifest gone -> sandbox gone, ms", Target::TimesBare(1.25));
    let mut start_calls = Row::new("CRI calls of a start", Target::Itself(START_CALLS + 1.0));
    let mut stop_calls = Row::new("CRI calls of a stop", Target::Itself(STOP_CALLS + 1.0));
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
    let sandboxes = node.cri().sandboxes().await?;
    let mut named = sandboxes
        .into_iter()
        .filter(|s| s.metadata.as_ref().is_some_and(|m| m.name == full));
    let id = named.next().context("a sandbox of the pod")?.id;
    let mut runtime = node.cri().raw();
    let begin = Instant::now();
    // An event, since asking again and again would take the processor from what is measured. containerd answers the
    // subscription with the first event, so it cannot be waited for before the pod is told to go.
    let deleted = async {
        let mut events = runtime
            .get_container_events(GetEventsRequest {})
            .await?
            .into_inner();
        while let Some(event) = events.message().await? {
            if event.container_id == id
                && event.container_event_type() == ContainerEventType::ContainerDeletedEvent
            {
                return Ok(begin.elapsed().as_secs_f64() * 1e3);
            }
        }
        anyhow::bail!("containerd's events ended")
    };
    let (took, removed) = tokio::join!(timeout(LIMIT, deleted), async { node.agent.remove(name) });
    removed?;
    let took = took.context("the sandbox's removal")??;
    Ok((took, total(node)))
}

/// Calls since the last count.
fn total(node: &Node) -> f64 {
    node.proxy.take_calls().values().sum::<u64>() as f64
}

fn now() -> Result<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    i64::try_from(since.as_nanos()).context("the clock is far in the future")
}

fn milliseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}
