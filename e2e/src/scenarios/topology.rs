//! On machines with uneven links, under random fragmentation, the GPUs of a pod are those that a brute-force search over
//! the simulator's own wiring finds best, and the same question gets the same answer.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use e2e::{Node, Setup, full_name, openable, staying, until};

use super::dice::Dice;
use super::{POD_LIMIT, gone, running};

mod oracle;

use oracle::Wiring;

const PROFILES: [&str; 2] = ["a100-pciex4", "v100x8"];
const ROUNDS: u64 = 5;

pub(super) async fn run() -> Result<()> {
    let mut dice = Dice::from_env()?;
    for profile in PROFILES {
        one(profile, &mut dice)
            .await
            .with_context(|| format!("on {profile}"))?;
    }
    Ok(())
}

async fn one(profile: &'static str, dice: &mut Dice) -> Result<()> {
    let node = Node::with_agent(Setup::with_gpus(profile)?).await?;
    let gpus = node.gpus.as_ref().context("the node has GPUs")?;
    let wiring = Wiring::read(&gpus.state().join("state.json"))?;
    let mut taken = BTreeMap::new();
    for round in 0..ROUNDS {
        fill(&node, &wiring, &mut taken, round).await?;
        let free = fragment(&node, &mut taken, dice).await?;
        let most = u64::try_from(free.len())?;
        let count = u32::try_from(1 + dice.below(most))?;
        let expected = wiring
            .best(&free, count as usize)
            .context("there is a set")?;
        for attempt in ["ask", "again"] {
            let name = format!("{attempt}-{round}");
            node.agent.apply(&name, &staying(&name, count))?;
            let id = running(&node, &name).await?;
            let chosen = openable(node.cri(), &id, wiring.count()).await?;
            ensure!(
                chosen == expected,
                "{count} of {free:?}: {chosen:?}, the oracle says {expected:?}"
            );
            node.agent.remove(&name)?;
            gone(&node, &name).await?;
            are_free(&node, &free).await?;
        }
    }
    node.finish().await
}

/// Gives every free GPU to a pod of its own and notes which pod has which.
async fn fill(
    node: &Node,
    wiring: &Wiring,
    taken: &mut BTreeMap<u32, String>,
    round: u64,
) -> Result<()> {
    let missing = wiring.count() as usize - taken.len();
    let names: Vec<String> = (0..missing).map(|n| format!("fill-{round}-{n}")).collect();
    for name in &names {
        node.agent.apply(name, &staying(name, 1))?;
    }
    for name in names {
        let id = running(node, &name).await?;
        let open = openable(node.cri(), &id, wiring.count()).await?;
        let mut open = open.into_iter();
        let (Some(minor), None) = (open.next(), open.next()) else {
            anyhow::bail!("{name} has not exactly one GPU");
        };
        ensure!(
            taken.insert(minor, full_name(&name)).is_none(),
            "GPU {minor} is held twice"
        );
    }
    Ok(())
}

/// Frees a random set of GPUs, at least one.
async fn fragment(
    node: &Node,
    taken: &mut BTreeMap<u32, String>,
    dice: &mut Dice,
) -> Result<BTreeSet<u32>> {
    let sure = dice.below(u64::try_from(taken.len())?);
    let mut free = BTreeSet::new();
    for (at, minor) in (0..).zip(taken.keys().copied()) {
        if at == sure || dice.below(2) == 0 {
            free.insert(minor);
        }
    }
    for minor in &free {
        let pod = taken.remove(minor).context("a GPU that is taken")?;
        let pod = pod
            .strip_suffix(&full_name(""))
            .context("a static pod's name")?
            .to_owned();
        node.agent.remove(&pod)?;
    }
    are_free(node, &free).await?;
    Ok(free)
}

/// Waits until exactly these GPUs have no holder.
async fn are_free(node: &Node, free: &BTreeSet<u32>) -> Result<()> {
    let api = node.agent.api()?;
    until("the release of GPUs", POD_LIMIT, async || {
        let gpus = api.gpus().await?.gpus.into_iter();
        let now: BTreeSet<u32> = gpus
            .filter(|gpu| gpu.holders.is_empty())
            .map(|gpu| gpu.minor)
            .collect();
        ensure!(now == *free, "{now:?} are free, {free:?} should be");
        Ok(())
    })
    .await
}
