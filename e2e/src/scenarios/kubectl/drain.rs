//! A node is emptied for maintenance and taken back.

use anyhow::{Result, ensure};
use e2e::{
    Cluster, DEPLOYMENT, HOSTNAME, NODE, condition, deployment, ensure_ready, staying_containers,
};
use serde_json::json;

const NAME: &str = "served";

/// All pods are evicted, those of a Deployment come back when they may.
pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let pod = json!({
        "containers": staying_containers(),
        "volumes": [{ "name": "work", "emptyDir": {} }],
    });
    objects.apply(&deployment(NAME, 2, pod)).await?;
    objects
        .until(DEPLOYMENT, NAME, |served| ensure_ready(served, 2))
        .await?;
    let drain = [
        "drain",
        HOSTNAME,
        "--force",
        "--delete-emptydir-data",
        "--ignore-daemonsets",
    ];
    let said = cluster.kubectl.run(&drain).await?;
    ensure!(said.contains("drained"), "{said}");
    let node = objects.get(NODE, HOSTNAME).await?;
    ensure!(node["spec"]["unschedulable"] == true, "{}", node["spec"]);
    let left = cluster.node.cri().ready_pods().await?;
    ensure!(left.is_empty(), "{left:?} still run on a drained node");
    objects
        .until_all(e2e::POD, "", |pods| {
            ensure!(pods.len() == 2, "{} pods", pods.len());
            for pod in pods {
                ensure!(
                    pod["spec"]["nodeName"].is_null(),
                    "{}",
                    pod["metadata"]["name"]
                );
                condition(pod, "PodScheduled", "False")?;
            }
            Ok(())
        })
        .await?;
    cluster.kubectl.run(&["uncordon", HOSTNAME]).await?;
    objects
        .until(DEPLOYMENT, NAME, |served| ensure_ready(served, 2))
        .await
}
