//! `kill -9` of the agent twenty times at random moments, some in the middle of a start, once with the journal lost: no
//! running pod is touched, all pods are reported, a new one starts, one that was removed meanwhile is stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Node, Seen, Setup, full_name, staying, until};

use super::dice::Dice;
use super::{POD_LIMIT, gone, gpus_of, running};

const ROUNDS: u32 = 20;
/// The round in which the agent's own files are lost.
const LOST: u32 = 10;
/// Twice the time that a pod takes to start, so that about half of the kills fall into a start.
const WHILE_STARTING: Duration = Duration::from_millis(500);
/// Pods that must not notice anything, with the number of their GPUs: five, so that others find some.
const STABLE: [(&str, u32); 4] = [("four", 4), ("one", 1), ("cpu", 0), ("other", 0)];

pub(super) async fn run() -> Result<()> {
    let mut node = Node::with_agent(Setup::with_gpus("h200x8")?).await?;
    for (name, gpus) in STABLE {
        node.agent.apply(name, &staying(name, gpus))?;
        running(&node, name).await?;
    }
    let before = stable(&node).await?;
    let mut dice = Dice::from_env()?;
    for round in 0..ROUNDS {
        one_round(&mut node, &mut dice, round)
            .await
            .with_context(|| format!("round {round}"))?;
        let after = stable(&node).await?;
        ensure!(
            before == after,
            "round {round}: {before:?} became {after:?}"
        );
    }
    node.finish().await
}

async fn one_round(node: &mut Node, dice: &mut Dice, round: u32) -> Result<()> {
    let (new, old) = (
        format!("new-{round}"),
        format!("new-{}", round.wrapping_sub(1)),
    );
    node.agent.apply(&new, &staying(&new, round % 3))?;
    // Not a wait for a fact: the moment of the kill is what is varied.
    tokio::time::sleep(dice.moment(WHILE_STARTING)).await;
    node.agent.kill();
    if round > 0 {
        node.agent.remove(&old)?;
    }
    if round == LOST {
        fs::remove_dir_all(node.agent.state())?;
    }
    node.start_agent().await?;
    running(node, &new).await?;
    if round > 0 {
        gone(node, &old).await?;
    }
    reported(node, &new).await?;
    only_once(node).await
}

/// The agent itself says that all of them run.
async fn reported(node: &Node, new: &str) -> Result<()> {
    let api = node.agent.api()?;
    let names = STABLE.map(|(name, _)| name).into_iter().chain([new]);
    let names: BTreeSet<String> = names.map(full_name).collect();
    until("the report of all pods", POD_LIMIT, async || {
        let pods = api.pods().await?.into_iter();
        let running: BTreeSet<_> = pods
            .filter(|p| p.phase == "Running")
            .map(|p| p.name)
            .collect();
        ensure!(
            running == names,
            "{running:?} are told as running, {names:?} should be"
        );
        Ok(())
    })
    .await
}

/// No container runs twice, whatever moment the agent was killed at.
async fn only_once(node: &Node) -> Result<()> {
    let mut running = BTreeMap::<_, Vec<_>>::new();
    for seen in node
        .cri()
        .seen()
        .await?
        .into_iter()
        .filter(|seen| seen.running)
    {
        running
            .entry((seen.pod, seen.container))
            .or_default()
            .push(seen.id);
    }
    let twice = running.iter().find(|(_, ids)| ids.len() > 1);
    ensure!(twice.is_none(), "a container runs twice: {twice:?}");
    Ok(())
}

/// Ids, process ids and GPUs of the pods that must not be touched.
async fn stable(node: &Node) -> Result<Vec<(Seen, BTreeSet<u32>)>> {
    let mut all = Vec::new();
    for (name, gpus) in STABLE {
        let pod = full_name(name);
        let mut seen = node.cri().seen().await?;
        seen.retain(|seen| seen.pod == pod);
        ensure!(seen.len() == 1, "{pod} has {} containers", seen.len());
        let open = gpus_of(node, name).await?;
        ensure!(open.len() == gpus as usize, "{name} may open {open:?}");
        all.extend(seen.into_iter().map(|seen| (seen, open.clone())));
    }
    Ok(all)
}
