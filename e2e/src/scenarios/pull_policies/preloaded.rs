//! An image that was on the node before any pod asked for it belongs to everybody, and a pull of it that fails, or does
//! not end, takes it from nobody.

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, Node, POD, Registry, Software};

use super::{ensure_prints, fails_to_pull, pod};

/// A registry that takes connections and never says anything.
const SILENT: &str = "127.0.0.1:5001";

pub(super) async fn check(cluster: &Cluster, registry: &Registry) -> Result<()> {
    let node = &cluster.node;
    let objects = cluster.objects();
    let image = registry.push(node, "team/there:1", &[("etc/mark", "there\n")])?;
    preload(node, &image)?;
    ensure_prints(cluster, &pod("had", &image, "IfNotPresent", ""), "there\n").await?;
    ensure_prints(cluster, &pod("had-never", &image, "Never", ""), "there\n").await?;
    objects.apply(&pod("asks", &image, "Always", "")).await?;
    fails_to_pull(cluster, "asks", &image).await?;
    ensure_prints(
        cluster,
        &pod("had-after", &image, "IfNotPresent", ""),
        "there\n",
    )
    .await
}

/// While somebody's pull of the image does not end. Others' pulls may wait for that one, so nothing else may be going on.
pub(super) async fn check_hanging(cluster: &Cluster, registry: &Registry) -> Result<()> {
    let node = &cluster.node;
    let objects = cluster.objects();
    let silent = node.containerd.how().netns.listen(SILENT.parse()?)?;
    let image = registry.push(node, "team/hanging:1", &[("etc/mark", "there\n")])?;
    preload(node, &image)?;
    let there = format!("{SILENT}/team/hanging:1");
    node.containerd.ctr(&["images", "tag", &image, &there])?;
    ensure_prints(
        cluster,
        &pod("hanging-had", &there, "IfNotPresent", ""),
        "there\n",
    )
    .await?;
    objects.apply(&pod("hanging", &there, "Always", "")).await?;
    objects.told("hanging", "Pulling", &there).await?;
    // The silent registry was asked.
    let _asked = silent.accept().await.context("nobody asked")?;
    let after = pod("hanging-after", &there, "IfNotPresent", "");
    match node.agent.software {
        Software::Gpulet => ensure_prints(cluster, &after, "there\n").await?,
        // An unfinished pull makes it forget that the image was there: it pulls, too.
        Software::Stock => {
            objects.apply(&after).await?;
            objects.told("hanging-after", "Pulling", &there).await?;
        }
    }
    for name in ["hanging", "hanging-after"] {
        objects.delete(POD, name).await?;
    }
    Ok(())
}

/// Brings an image to the node without the agent.
fn preload(node: &Node, image: &str) -> Result<()> {
    let user = format!("{}:{}", Registry::USER, Registry::PASSWORD);
    let pull = ["images", "pull", "--plain-http", "--user", &user, image];
    // The error would show the password.
    ensure!(
        node.containerd.ctr(&pull).is_ok(),
        "ctr could not pull {image}"
    );
    Ok(())
}
