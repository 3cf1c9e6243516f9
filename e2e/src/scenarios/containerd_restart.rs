//! containerd goes away and comes back: no container id changes, a pod that died meanwhile is started again, a pod that
//! was asked for meanwhile starts.

use anyhow::{Result, ensure};
use e2e::{Node, Seen, Setup, full_name, staying, until};
use rustix::process::{Pid, Signal, kill_process};

use super::{POD_LIMIT, running};

pub(super) async fn run() -> Result<()> {
    let mut node = Node::with_agent(Setup::plain()?).await?;
    for name in ["stays", "dies"] {
        node.agent.apply(name, &staying(name, 0))?;
        running(&node, name).await?;
    }
    let before = node.cri().seen().await?;
    let agent = node.agent.pid()?;

    node.containerd.kill();
    node.proxy.cut();
    let dies = find(&before, "dies")?;
    let pid = i32::try_from(dies.pid)?;
    kill_process(
        Pid::from_raw(pid).ok_or_else(|| anyhow::anyhow!("no pid"))?,
        Signal::KILL,
    )?;
    node.agent.apply("new", &staying("new", 0))?;
    node.containerd = node.containerd.how().clone().again().await?;

    running(&node, "new").await?;
    until(
        "another container in place of the dead one",
        POD_LIMIT,
        async || {
            let after = node.cri().running(&full_name("dies"), "main").await?;
            ensure!(after.id != dies.id, "it is still the old one");
            Ok(())
        },
    )
    .await?;
    let after = node.cri().seen().await?;
    ensure!(
        find(&before, "stays")? == find(&after, "stays")?,
        "{before:?} became {after:?}"
    );
    node.agent.alive()?;
    ensure!(node.agent.pid()? == agent);
    node.finish().await
}

fn find(seen: &[Seen], pod: &str) -> Result<Seen> {
    let pod = full_name(pod);
    let found = seen.iter().find(|seen| seen.pod == pod && seen.running);
    found
        .cloned()
        .ok_or_else(|| anyhow::anyhow!("{pod} does not run: {seen:?}"))
}
