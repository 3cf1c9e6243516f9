//! What the agent costs when nothing happens, with 60 pods of a control plane.

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::POD;
use futures::stream::{StreamExt, TryStreamExt, iter};

use super::{Rig, is_running};
use crate::footprint::{cores, memory};
use crate::report::{Row, Target};

const PODS: usize = 60;
const LABEL: &str = "idle";
/// After the last start: its events and statuses are written, and the kubelets look around once more.
const SETTLE: Duration = Duration::from_secs(15);
const WINDOW: Duration = Duration::from_secs(30);

pub(super) async fn measure(rig: &mut Rig) -> Result<Vec<Row>> {
    let mut processor = Row::new("60 pods, idle: processor, cores", Target::Itself(0.02));
    let mut pss = Row::new(
        "60 pods, idle: PSS with children, MiB",
        Target::Itself(40.0),
    );
    // A relist is two calls, and one falls into every minute.
    let mut calls = Row::new("60 pods, idle: CRI calls in 30 s", Target::Itself(2.0));
    for software in rig.agents.clone() {
        rig.run(software).await?;
        iter(0..PODS)
            .map(|n| {
                let rig = &*rig;
                async move { rig.create(&format!("idle-{n}"), LABEL).await }
            })
            .buffer_unordered(PODS)
            .try_collect::<Vec<()>>()
            .await?;
        let selector = format!("app={LABEL}");
        rig.cluster
            .objects()
            .until_all(POD, &selector, |pods| {
                let running = pods.iter().filter(|pod| is_running(pod)).count();
                ensure!(running == PODS, "{running} run");
                Ok(())
            })
            .await?;
        tokio::time::sleep(SETTLE).await;
        let node = &rig.cluster.node;
        node.proxy.take_calls();
        processor
            .of(software)
            .push(cores(&node.agent, WINDOW).await?);
        pss.of(software).push(memory(&node.agent)?);
        let made = node.proxy.take_calls().values().sum::<u64>();
        calls.of(software).push(made as f64);
        rig.cluster.clear().await?;
    }
    Ok(vec![processor, pss, calls])
}
