//! Runtimes without CDI: 1.7 drops the names silently, 2.x may refuse the create. On both the containers get the right
//! GPUs, by what the agent expands itself.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use e2e::{Node, Runtime, Setup, staying};

use super::{gpus_of, running};

pub(super) async fn run() -> Result<()> {
    for runtime in [Runtime::V1_7, Runtime::V2] {
        one(runtime)
            .await
            .with_context(|| format!("containerd {}", runtime.name()))?;
    }
    Ok(())
}

async fn one(runtime: Runtime) -> Result<()> {
    let setup = Setup {
        runtime,
        cdi: false,
        ..Setup::with_gpus("h200x8")?
    };
    let node = Node::with_agent(setup).await?;
    let mut taken = BTreeSet::new();
    for (name, count) in [("two", 2), ("five", 5), ("none", 0)] {
        node.agent.apply(name, &staying(name, count))?;
        let id = running(&node, name).await?;
        let open = gpus_of(&node, name).await?;
        ensure!(open.len() == count as usize, "{name} may open {open:?}");
        ensure!(
            taken.is_disjoint(&open),
            "{name} shares some of {open:?} with {taken:?}"
        );
        taken.extend(&open);
        // The driver's library arrives as well.
        let there =
            "ls /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib64/libcuda.so.1 2>/dev/null | wc -l";
        let libraries = node.cri().shell(&id, there).await?;
        ensure!(
            (libraries.trim() != "0") == (count > 0),
            "{name} sees {libraries} libcuda.so.1"
        );
    }
    node.finish().await
}
