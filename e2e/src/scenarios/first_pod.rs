//! The first pod: from a manifest to a running container with what the manifest says, through a `kill -9` of the agent
//! and away again.

use anyhow::{Context, Result, ensure};
use e2e::{Node, STAY, Setup, Spec, container, full_name, pod};
use serde_json::json;

use super::{gone, running};

pub(super) async fn run() -> Result<()> {
    let mut node = Node::with_agent(Setup::plain()?).await?;
    let name = full_name("first");
    let more = json!({
        "env": [
            { "name": "COLOUR", "value": "green" },
            { "name": "POD", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
        ],
        "resources": { "limits": { "memory": "64Mi" } },
        "workingDir": "/tmp",
    });
    node.agent.apply(
        "first",
        &pod(
            "first",
            json!({ "containers": [container("main", STAY, more)] }),
        ),
    )?;
    let id = running(&node, "first").await?;

    let spec = Spec::read(&node.containerd.how().state(), &id)?;
    ensure!(spec.variable("COLOUR").as_deref() == Some("green"));
    ensure!(spec.variable("POD").as_deref() == Some(name.as_str()));
    let cgroup = spec.cgroup().context("no cgroup path")?;
    let parent = format!("/{}/kubepods/burstable/pod", node.footprint().name());
    ensure!(
        cgroup.to_string_lossy().starts_with(&parent),
        "the cgroup is {}",
        cgroup.display()
    );
    let printed = node
        .cri()
        .shell(&id, "pwd; hostname; cat /etc/hosts")
        .await?;
    ensure!(printed.starts_with(&format!("/tmp\n{name}\n")), "{printed}");
    ensure!(
        printed.contains(&node.cri().pod_ip(&name).await?),
        "{printed}"
    );

    let before = node.cri().seen().await?;
    node.agent.kill();
    node.start_agent().await?;
    node.agent.apply("second", &e2e::staying("second", 0))?;
    running(&node, "second").await?;
    let after = node.cri().seen().await?;
    ensure!(
        before.iter().all(|seen| after.contains(seen)),
        "{before:?} became {after:?}"
    );
    let table = node.agent.gpuctl_text(&["pods"])?;
    ensure!(
        table.contains(&name) && table.contains("Running"),
        "{table}"
    );

    node.agent.remove("first")?;
    gone(&node, "first").await?;
    node.finish().await
}
