//! The API server goes away, refuses, and is in trouble. The node goes on alone: containers that die or fail their probes
//! are restarted there and then, everything else is left as it is, and the API learns of it soon after.
//!
//! LONG=1 has more pods and an outage that outlasts the node's lease.

use std::env;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{
    Cluster, ClusterSetup, Component, LEASE, NODE, POD, Software, Trouble, Unsteady, condition,
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

mod crowd;

use crowd::Crowd;

/// Until the API knows all that happened while it is in trouble: each call is made three times before it is heard.
const SLOW_NEWS_LIMIT: Duration = Duration::from_secs(60);
/// The node's lease.
const OWN_LEASE: &str = "kube-node-lease/node";

pub(super) async fn run() -> Result<()> {
    let long = env::var("LONG").is_ok_and(|long| long == "1");
    let (pods, outage) = if long { (50, 120) } else { (20, 20) };
    let mut cluster = Cluster::without_agent(ClusterSetup::plain()?).await?;
    let mut unsteady = Unsteady::start(&mut cluster).await?;
    cluster.start_agent().await?;
    let mut crowd = Crowd::start(&cluster, pods).await?;
    // The longer an agent was left alone the longer it may wait between its tries, so that the longest trouble is last.
    stumbling(&cluster, &mut crowd, &unsteady)
        .await
        .context("with an API server in trouble")?;
    refusing(&cluster, &mut crowd, &unsteady)
        .await
        .context("with an API server that refuses everything")?;
    let outage = Duration::from_secs(outage);
    away(&mut cluster, &mut crowd, &mut unsteady, outage)
        .await
        .context("without an API server")?;
    cluster.finish().await
}

/// It is slow, answers with 429 and 500 before it does anything, and breaks off every watch again and again. A pod comes
/// and goes all the same, and statuses get through.
async fn stumbling(cluster: &Cluster, crowd: &mut Crowd, unsteady: &Unsteady) -> Result<()> {
    unsteady.set(Trouble::Stumble(Duration::from_millis(200)));
    unsteady.cut();
    crowd.strike(cluster, "troubled").await?;
    crowd.ensure_known(cluster, SLOW_NEWS_LIMIT).await?;
    unsteady.cut();
    come_and_go(cluster).await?;
    for status in [429, 500] {
        ensure!(
            unsteady.refused(status) > 0,
            "nothing was answered with {status}"
        );
    }
    unsteady.set(Trouble::None);
    crowd.ensure_known(cluster, news_limit(cluster)).await?;
    crowd.ensure_untouched(cluster).await
}

/// It is there and says 500 to everything.
async fn refusing(cluster: &Cluster, crowd: &mut Crowd, unsteady: &Unsteady) -> Result<()> {
    unsteady.set(Trouble::Refuse(500));
    unsteady.cut();
    crowd.strike(cluster, "refused").await?;
    let refused = unsteady.refused(500);
    ensure!(refused > 0, "nobody asked while it refused");
    unsteady.set(Trouble::None);
    crowd.ensure_known(cluster, news_limit(cluster)).await?;
    crowd.ensure_untouched(cluster).await
}

/// It is not there at all for a time that has to be long: two leases of the node, with LONG=1.
async fn away(
    cluster: &mut Cluster,
    crowd: &mut Crowd,
    unsteady: &mut Unsteady,
    outage: Duration,
) -> Result<()> {
    let lease = cluster.objects().get(LEASE, OWN_LEASE).await?;
    unsteady.close().await;
    cluster.plane.stop(Component::ApiServer).await?;
    let end = Instant::now() + outage;
    crowd.strike(cluster, "away").await?;
    sleep_until(end).await;
    crowd.ensure_untouched(cluster).await?;
    cluster.plane.start(Component::ApiServer).await?;
    unsteady.open()?;
    crowd.ensure_known(cluster, news_limit(cluster)).await?;
    let soon = cluster.objects().within(news_limit(cluster));
    soon.until(LEASE, OWN_LEASE, |now| {
        ensure!(renewed(now) > renewed(&lease), "it is not renewed");
        Ok(())
    })
    .await?;
    soon.until(NODE, e2e::HOSTNAME, |node| condition(node, "Ready", "True"))
        .await?;
    come_and_go(cluster).await?;
    crowd.ensure_untouched(cluster).await
}

/// A pod that is bound now runs, and goes when it is deleted.
async fn come_and_go(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    objects.apply(&crowd::late()).await?;
    objects.ready(crowd::LATE).await?;
    objects.delete(POD, crowd::LATE).await?;
    objects.gone(POD, crowd::LATE).await
}

/// For a node whose API server is back, until the API knows all that happened meanwhile.
fn news_limit(cluster: &Cluster) -> Duration {
    match cluster.node.agent.software {
        Software::Gpulet => Duration::from_secs(10),
        // It tries every 10 s, and one try may be just over.
        Software::Stock => Duration::from_secs(25),
    }
}

/// When a lease was renewed; times in this form compare as text.
fn renewed(lease: &Value) -> Option<&str> {
    lease["spec"]["renewTime"].as_str()
}
