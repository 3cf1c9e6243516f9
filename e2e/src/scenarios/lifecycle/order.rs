//! Init containers and a sidecar start in the order of the manifest; the sidecar outlives the main container, also when
//! it was restarted; grace is given in full and not longer.

use std::time::Instant;

use anyhow::{Result, ensure};
use e2e::{Node, container, full_name, pod, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::Diary;
use crate::scenarios::{POD_LIMIT, gone, running};

/// Grace of the pod that ignores SIGTERM, in seconds.
const GRACE: u64 = 3;

pub(super) async fn check(node: &Node) -> Result<()> {
    let (ordered, grace) = tokio::join!(ordered(node), grace(node));
    ordered?;
    grace
}

async fn ordered(node: &Node) -> Result<()> {
    let diary = Diary::new(node, "order")?;
    let stays = |name: &str| {
        format!(
            "echo {name} begins >> /diary; trap 'echo {name} ends >> /diary; exit 0' TERM; \
             while :; do sleep 3600 & wait; done"
        )
    };
    let mounts = json!({ "volumeMounts": [Diary::mount()] });
    let side = json!({ "volumeMounts": [Diary::mount()], "restartPolicy": "Always" });
    let spec = json!({
        "volumes": [diary.volume()],
        "initContainers": [
            container("first", "echo first >> /diary", mounts.clone()),
            container("side", &stays("side"), side),
            container("second", "echo second >> /diary", mounts.clone()),
        ],
        "containers": [container("main", &stays("main"), mounts)],
    });
    node.agent.apply("ordered", &pod("ordered", spec))?;
    let main = running(node, "ordered").await?;
    diary
        .reads(&["first", "side begins", "second", "main begins"])
        .await?;

    let name = full_name("ordered");
    let side = node.cri().running(&name, "side").await?.id;
    let pid = Pid::from_raw(i32::try_from(node.cri().pid(&side).await?)?);
    kill_process(pid.ok_or_else(|| anyhow::anyhow!("no pid"))?, Signal::KILL)?;
    diary
        .reads(&[
            "first",
            "side begins",
            "second",
            "main begins",
            "side begins",
        ])
        .await?;
    ensure!(
        node.cri().running(&name, "main").await?.id == main,
        "the main one was restarted too"
    );

    node.agent.remove("ordered")?;
    gone(node, "ordered").await?;
    let lines = diary.lines()?;
    ensure!(
        lines.ends_with(&["main ends".into(), "side ends".into()]),
        "{lines:?}"
    );
    Ok(())
}

/// A container that ignores SIGTERM is killed when its grace is over.
async fn grace(node: &Node) -> Result<()> {
    let main = container("main", "trap '' TERM; while :; do sleep 1; done", json!({}));
    let spec = json!({ "containers": [main], "terminationGracePeriodSeconds": GRACE });
    node.agent.apply("stubborn", &pod("stubborn", spec))?;
    let id = running(node, "stubborn").await?;
    let begin = Instant::now();
    node.agent.remove("stubborn")?;
    until("the end of the stubborn container", POD_LIMIT, async || {
        let running = node.cri().running(&full_name("stubborn"), "main").await;
        ensure!(running.is_err(), "{id} runs");
        Ok(())
    })
    .await?;
    let took = begin.elapsed().as_secs_f32();
    // Measured from outside: the agent has to see the file go, and the runtime to see the process end.
    let grace = GRACE as f32;
    ensure!(
        took >= grace - 0.1 && took < grace + 3.0,
        "it took {took} s with a grace of {grace} s"
    );
    Ok(())
}
