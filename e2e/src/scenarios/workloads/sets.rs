//! A StatefulSet, whose pods have names and an order, and a DaemonSet.

use anyhow::{Context, Result, ensure};
use e2e::{
    Cluster, DAEMON_SET, HOSTNAME, POD, STATEFUL_SET, STAY, container, ensure_ready, labelled,
    staying_containers,
};
use serde_json::{Value, json};

/// Two pods, the second after the first; one that is deleted comes again under its own name.
pub(super) async fn stateful(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let main = container("main", STAY, json!({}));
    let spec = json!({ "replicas": 2, "serviceName": "store" });
    let pod = json!({ "containers": [main] });
    objects
        .apply(&labelled("apps/v1", "StatefulSet", "store", spec, pod))
        .await?;
    objects
        .until(STATEFUL_SET, "store", |store| ensure_ready(store, 2))
        .await?;
    let (first, second) = (
        objects.get(POD, "store-0").await?,
        objects.get(POD, "store-1").await?,
    );
    let ready = ready_since(&first)?;
    let created = &second["metadata"]["creationTimestamp"];
    let created = created.as_str().context("no creation")?;
    ensure!(
        ready.as_str() <= created,
        "store-1 was made before store-0 was ready"
    );
    let hostname = ["exec", "store-0", "--", "hostname"];
    let hostname = cluster.kubectl.run(&hostname).await?;
    ensure!(hostname.trim() == "store-0", "its host name is {hostname}");

    let old = first["metadata"]["uid"].clone();
    objects.delete(POD, "store-0").await?;
    objects
        .until(POD, "store-0", |pod| {
            ensure!(pod["metadata"]["uid"] != old, "it is the old one");
            e2e::condition(pod, "Ready", "True")
        })
        .await
}

/// One pod on the only node.
pub(super) async fn daemon(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let pod = json!({ "containers": staying_containers() });
    objects
        .apply(&labelled("apps/v1", "DaemonSet", "agent", json!({}), pod))
        .await?;
    objects
        .until(DAEMON_SET, "agent", |agent| {
            let status = &agent["status"];
            let counts = ["desiredNumberScheduled", "numberReady", "numberAvailable"];
            ensure!(counts.iter().all(|count| status[*count] == 1), "{status}");
            Ok(())
        })
        .await?;
    let pods = objects.list(POD, "app=agent").await?;
    ensure!(
        pods.len() == 1 && pods[0]["spec"]["nodeName"] == HOSTNAME,
        "{pods:?}"
    );
    Ok(())
}

fn ready_since(pod: &Value) -> Result<String> {
    let conditions = pod["status"]["conditions"].as_array();
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|one| one["type"] == "Ready");
    let since = ready.and_then(|ready| ready["lastTransitionTime"].as_str());
    Ok(since.context("no time of readiness")?.to_owned())
}
