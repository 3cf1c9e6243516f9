//! GPUs over a pod's life: those of an init container are used again by the main one, and a variable alone gives none.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use e2e::{Node, STAY, container, gpu_limit, pod, staying};
use serde_json::json;

use super::Diary;
use crate::scenarios::{GPUS, gone, gpus_of, running};

pub(super) async fn check(node: &Node) -> Result<()> {
    let (used_again, variable) = tokio::join!(used_again(node), variable(node));
    used_again?;
    variable
}

/// Init containers with 3 and 2, a main one with 3: three GPUs in all, so that five are left for another pod.
async fn used_again(node: &Node) -> Result<()> {
    let diary = Diary::new(node, "init-gpus")?;
    let line = format!(
        "devopen 195 0 {} /tmp/d | sed -n 's/ ENXIO//p' | xargs >> /diary",
        GPUS - 1
    );
    let with = |gpus: u32| {
        let mut more = gpu_limit(gpus);
        more["volumeMounts"] = json!([Diary::mount()]);
        more
    };
    let spec = json!({
        "volumes": [diary.volume()],
        "initContainers": [container("three", &line, with(3)), container("two", &line, with(2))],
        "containers": [container("main", STAY, with(3))],
    });
    node.agent.apply("init-gpus", &pod("init-gpus", spec))?;
    node.agent.apply("five", &staying("five", 5))?;
    running(node, "init-gpus").await?;
    running(node, "five").await?;
    let main = gpus_of(node, "init-gpus").await?;
    let five = gpus_of(node, "five").await?;
    ensure!(
        main.len() == 3 && five.len() == 5 && main.is_disjoint(&five),
        "{main:?} {five:?}"
    );
    let inits: Vec<BTreeSet<u32>> = diary
        .lines()?
        .iter()
        .map(|line| {
            line.split(' ')
                .map(|minor| Ok(minor.parse()?))
                .collect::<Result<_>>()
        })
        .collect::<Result<_>>()?;
    let [three, two] = inits.as_slice() else {
        anyhow::bail!("init containers wrote {inits:?}")
    };
    ensure!(
        *three == main && two.len() == 2 && two.is_subset(&main),
        "{inits:?} then {main:?}"
    );
    for name in ["init-gpus", "five"] {
        node.agent.remove(name)?;
        gone(node, name).await?;
    }
    Ok(())
}

async fn variable(node: &Node) -> Result<()> {
    let more = json!({ "env": [{ "name": "NVIDIA_VISIBLE_DEVICES", "value": "all" }] });
    let spec = json!({ "containers": [container("main", STAY, more)] });
    node.agent.apply("all", &pod("all", spec))?;
    let id = running(node, "all").await?;
    ensure!(gpus_of(node, "all").await?.is_empty());
    let nodes = node.cri().shell(&id, "ls /dev").await?;
    ensure!(!nodes.contains("nvidia"), "{nodes}");
    node.agent.remove("all")
}
