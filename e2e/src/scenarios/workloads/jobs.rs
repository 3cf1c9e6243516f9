//! Jobs: indexed with a failing pod, and by hand from a CronJob.

use anyhow::{Result, ensure};
use e2e::{CRON_JOB, Cluster, JOB, POD, condition, container, metadata};
use serde_json::{Value, json};

/// Three indexes. Index 1 fails in its first pod and succeeds in the next, which the Job counts.
pub(super) async fn indexed(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let memory = cluster.node.scratch("indexed")?;
    let line = "echo index $JOB_COMPLETION_INDEX; test $JOB_COMPLETION_INDEX != 1 && exit 0; \
                test -e /memory/failed && exit 0; touch /memory/failed; exit 3";
    let mount = json!([{ "name": "memory", "mountPath": "/memory" }]);
    let main = container("main", line, json!({ "volumeMounts": mount }));
    let pod = json!({
        "restartPolicy": "Never",
        "containers": [main],
        "volumes": [{ "name": "memory", "hostPath": { "path": memory } }],
    });
    let spec = json!({
        "completionMode": "Indexed",
        "completions": 3,
        "parallelism": 3,
        "backoffLimitPerIndex": 2,
    });
    objects.apply(&job("batch", spec, pod)).await?;
    let done = objects
        .until(JOB, "batch", |job| {
            condition(job, "Complete", "True")?;
            Ok(job["status"].clone())
        })
        .await?;
    ensure!(done["succeeded"] == 3 && done["failed"] == 1, "{done}");
    ensure!(done["completedIndexes"] == "0-2", "{done}");

    let pods = objects.list(POD, "job-name=batch").await?;
    let failed: Vec<&Value> = pods
        .iter()
        .filter(|pod| pod["status"]["phase"] == "Failed")
        .collect();
    ensure!(failed.len() == 1, "{} pods failed", failed.len());
    let ended = &failed[0]["status"]["containerStatuses"][0]["state"]["terminated"];
    ensure!(
        ended["exitCode"] == 3 && ended["reason"] == "Error",
        "{ended}"
    );
    let logs = ["logs", "--selector=job-name=batch", "--prefix=false"];
    let logs = cluster.kubectl.run(&logs).await?;
    let mut lines: Vec<&str> = logs.lines().collect();
    lines.sort_unstable();
    ensure!(
        lines == ["index 0", "index 1", "index 1", "index 2"],
        "{lines:?}"
    );
    Ok(())
}

/// A schedule that is not due for long, and a Job made from it now.
pub(super) async fn cron(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let pod = json!({
        "restartPolicy": "OnFailure",
        "containers": [container("main", "echo on demand", json!({}))],
    });
    let template = json!({ "spec": { "template": { "spec": pod } } });
    let spec = json!({ "schedule": "0 0 29 2 *", "jobTemplate": template });
    let cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata("leap"), "spec": spec,
    });
    objects.apply(&cron).await?;
    objects.until(CRON_JOB, "leap", |_| Ok(())).await?;
    let now = ["create", "job", "now", "--from=cronjob/leap"];
    cluster.kubectl.run(&now).await?;
    objects
        .until(JOB, "now", |job| condition(job, "Complete", "True"))
        .await?;
    let said = cluster.kubectl.run(&["logs", "job/now"]).await?;
    ensure!(said == "on demand\n", "its log is {said:?}");
    Ok(())
}

/// A Job makes its own selector.
fn job(name: &str, mut spec: Value, pod: Value) -> Value {
    spec["template"] = json!({ "spec": pod });
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(name), "spec": spec })
}
