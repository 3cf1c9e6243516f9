//! Pods that ask for GPUs get exactly theirs: three that fit, one that waits with its reason and starts when one ends.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use e2e::{Node, Setup, Spec, staying};

use super::{GPUS, gone, gpus_of, running, told};

pub(super) async fn run() -> Result<()> {
    let node = Node::with_agent(Setup::with_gpus("h200x8")?).await?;
    let mut taken = BTreeSet::new();
    for (name, count) in [("one", 1), ("two", 2), ("four", 4)] {
        node.agent.apply(name, &staying(name, count))?;
        let id = running(&node, name).await?;
        let open = gpus_of(&node, name).await?;
        ensure!(open.len() == count as usize, "{name} may open {open:?}");
        ensure!(
            taken.is_disjoint(&open),
            "{name} shares some of {open:?} with {taken:?}"
        );
        taken.extend(&open);
        nodes_are_there(&node, &id, &open)?;
    }
    node.agent.apply("waiting", &staying("waiting", 4))?;
    told(&node, "waiting", &["Pending", "DevicesBusy", "are free"]).await?;
    node.agent.apply("cpu", &staying("cpu", 0))?;
    running(&node, "cpu").await?;
    ensure!(gpus_of(&node, "cpu").await?.is_empty());
    let table = node.agent.gpuctl_text(&["list"])?;
    ensure!(
        table.lines().filter(|line| line.contains("H200")).count() == GPUS as usize,
        "{table}"
    );

    let freed = gpus_of(&node, "four").await?;
    node.agent.remove("four")?;
    gone(&node, "four").await?;
    running(&node, "waiting").await?;
    let open = gpus_of(&node, "waiting").await?;
    let others: BTreeSet<u32> = taken.difference(&freed).copied().collect();
    ensure!(
        open.len() == 4 && open.is_disjoint(&others),
        "{open:?} beside {others:?}"
    );
    node.finish().await
}

/// The container has the nodes of its own GPUs under NVIDIA's names, and the control node, and no other GPU's.
fn nodes_are_there(node: &Node, id: &str, open: &BTreeSet<u32>) -> Result<()> {
    let devices = Spec::read(&node.containerd.how().state(), id)?.devices();
    for minor in 0..GPUS {
        let there = devices
            .iter()
            .any(|path| path.as_os_str() == &*format!("/dev/nvidia{minor}"));
        ensure!(
            there == open.contains(&minor),
            "GPU {minor}, given {open:?}: nodes {devices:?}"
        );
    }
    ensure!(
        devices.iter().any(|path| path.ends_with("nvidiactl")),
        "{devices:?}"
    );
    Ok(())
}
