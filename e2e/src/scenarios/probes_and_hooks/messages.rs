//! Last words of containers, from their file or from their log.

use anyhow::{Result, ensure};
use e2e::{Cluster, api_pod, container};
use serde_json::{Value, json};

use super::status;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let fallback = json!({ "terminationMessagePolicy": "FallbackToLogsOnError" });
    let elsewhere = json!({ "terminationMessagePath": "/tmp/why" });
    let many = "i=0; while test $i -lt 100; do echo line $i; i=$((i+1)); done; exit 1";
    let containers = [
        container("file", "echo -n done > /dev/termination-log", json!({})),
        container("elsewhere", "echo -n why > /tmp/why; exit 2", elsewhere),
        container("silent", "echo said; exit 1", json!({})),
        container("log", "echo said; exit 1", fallback.clone()),
        container("well", "echo said", fallback.clone()),
        container(
            "both",
            "echo said; echo -n file > /dev/termination-log; exit 1",
            fallback.clone(),
        ),
        container("many", many, fallback),
        container(
            "long",
            "head -c 5000 /dev/zero | tr '\\0' x > /dev/termination-log",
            json!({}),
        ),
    ];
    let spec = json!({ "restartPolicy": "Never", "containers": containers });
    objects.apply(&api_pod("messages", spec)).await?;
    let pod = objects.phase("messages", "Failed").await?;
    let message = |name: &str| &status(&pod, name)["state"]["terminated"]["message"];
    for (name, expected) in [
        ("file", json!("done")),
        ("elsewhere", json!("why")),
        ("silent", Value::Null),
        ("log", json!("said\n")),
        ("well", Value::Null),
        ("both", json!("file")),
    ] {
        let said = message(name);
        ensure!(*said == expected, "{name} said {said}, not {expected}");
    }
    // The last 80 lines; of the file what one pod's status has for each of its containers (12 KiB in all).
    let many = message("many").as_str().unwrap_or_default();
    ensure!(
        many.starts_with("line 20\n") && many.ends_with("line 99\n"),
        "{many}"
    );
    let long = message("long").as_str().unwrap_or_default().len();
    ensure!(long == 12 * 1024 / containers.len(), "it has {long} bytes");
    Ok(())
}
