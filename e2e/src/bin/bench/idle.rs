//! What gpulet costs when nothing happens: processor, memory and calls, with 50 pods from manifests.

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::{Node, staying, until};

use crate::footprint::{cores, memory};
use crate::report::{Row, Target};

const PODS: usize = 50;
const LIMIT: Duration = Duration::from_secs(120);
/// A window of idle time, and how many.
const WINDOW: Duration = Duration::from_secs(20);
const WINDOWS: usize = 3;
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
    let row = |what, target| Row::new(what, Target::Itself(target));
    let mut processor = row("50 manifests, idle: processor, cores", 0.02);
    let mut pss = row("50 manifests, idle: PSS with the probe child, MiB", 30.0);
    let mut calls = row("50 manifests, idle: CRI calls in 20 s", CALLS);
    for _ in 0..WINDOWS {
        node.proxy.take_calls();
        processor.gpulet.push(cores(&node.agent, WINDOW).await?);
        pss.gpulet.push(memory(&node.agent)?);
        calls
            .gpulet
            .push(node.proxy.take_calls().values().sum::<u64>() as f64);
    }
    Ok(vec![processor, pss, calls])
}
