//! A rolling update that waits for readiness.

use anyhow::{Result, ensure};
use e2e::{Cluster, DEPLOYMENT, POD, STAY, container, deployment, ensure_ready};
use serde_json::json;

const NAME: &str = "web";

/// Two replicas roll to a new spec. A new pod is ready only after its file is there, and until then both old ones stay.
pub(super) async fn rolls(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    objects.apply(&web("one")).await?;
    objects
        .until(DEPLOYMENT, NAME, |web| ensure_ready(web, 2))
        .await?;
    let old = uids(cluster).await?;
    ensure!(old.len() == 2, "{old:?}");

    objects.apply(&web("two")).await?;
    let mut fewest = u64::MAX;
    objects
        .until(DEPLOYMENT, NAME, |web| {
            let available = web["status"]["availableReplicas"].as_u64();
            fewest = fewest.min(available.unwrap_or_default());
            ensure_ready(web, 2)
        })
        .await?;
    ensure!(
        fewest == 2,
        "only {fewest} were available during the update"
    );
    // The last old pod may still be ending.
    objects
        .until_all(POD, "app=web", |pods| {
            ensure!(pods.len() == 2, "{} pods", pods.len());
            let new = pods.iter().all(|pod| {
                !old.contains(&pod["metadata"]["uid"])
                    && pod["spec"]["containers"][0]["env"][0]["value"] == "two"
            });
            ensure!(new, "an old pod is there");
            Ok(())
        })
        .await?;
    let said = cluster
        .kubectl
        .run(&["rollout", "status", "deployment/web"])
        .await?;
    ensure!(said.contains("successfully rolled out"), "{said}");
    Ok(())
}

fn web(version: &str) -> serde_json::Value {
    let line = format!("sleep 1; touch /tmp/ready; {STAY}");
    let main = container(
        "main",
        &line,
        json!({
            "env": [{ "name": "VERSION", "value": version }],
            "readinessProbe": {
                "exec": { "command": ["/bin/test", "-f", "/tmp/ready"] },
                "periodSeconds": 1,
            },
        }),
    );
    let mut web = deployment(NAME, 2, json!({ "containers": [main] }));
    let rolling = json!({ "maxUnavailable": 0, "maxSurge": 1 });
    web["spec"]["strategy"] = json!({ "type": "RollingUpdate", "rollingUpdate": rolling });
    web
}

async fn uids(cluster: &Cluster) -> Result<Vec<serde_json::Value>> {
    let pods = cluster.objects().list(POD, "app=web").await?;
    Ok(pods
        .iter()
        .map(|pod| pod["metadata"]["uid"].clone())
        .collect())
}
