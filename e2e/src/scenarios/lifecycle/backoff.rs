//! Restart policies, and the back-off of a container that crashes again and again: the first restart at once, the next
//! one 10 s after that (Kubernetes 1.37 kubelet: back-off doubles from 10 s to 300 s).

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Node, container, full_name, pod, until};
use serde_json::json;

use crate::scenarios::{POD_LIMIT, told};

pub(super) async fn check(node: &Node) -> Result<()> {
    let policies = [
        ("Never", 1, "Failed"),
        ("Never", 0, "Succeeded"),
        ("OnFailure", 0, "Succeeded"),
    ];
    for (policy, code, phase) in policies {
        let name = format!("{}-{code}", policy.to_lowercase());
        let main = container("main", &format!("exit {code}"), json!({}));
        let spec = json!({ "containers": [main], "restartPolicy": policy });
        node.agent.apply(&name, &pod(&name, spec))?;
        let told = told(node, &name, &[phase]).await?;
        ensure!(told.phase == phase, "{told:?}");
        ensure!(
            node.cri().of_pod(&full_name(&name)).await?.len() == 1,
            "{name} was restarted"
        );
    }
    crashing(node).await
}

async fn crashing(node: &Node) -> Result<()> {
    let spec = json!({ "containers": [container("main", "exit 7", json!({}))] });
    node.agent.apply("crashing", &pod("crashing", spec))?;
    let told = told(node, "crashing", &["CrashLoopBackOff", "back-off 10s"]).await?;
    ensure!(
        told.containers.iter().all(|main| main.restart_count == 1),
        "{told:?}"
    );
    let name = full_name("crashing");
    let attempt = async |number: u32| {
        let all = node.cri().of_pod(&name).await?.into_iter();
        let mut found = all.filter(|c| c.metadata.as_ref().is_some_and(|m| m.attempt == number));
        found.next().with_context(|| format!("no attempt {number}"))
    };
    let second = node.cri().status(&attempt(1).await?.id).await?;
    let third = until("the third attempt", POD_LIMIT, async || attempt(2).await).await?;
    let paused = Duration::from_nanos(u64::try_from(third.created_at - second.finished_at)?);
    let (low, high) = (Duration::from_millis(9_900), Duration::from_secs(13));
    ensure!(
        paused >= low && paused < high,
        "{name}: the third attempt came after {paused:?}"
    );
    node.agent.remove("crashing")
}
