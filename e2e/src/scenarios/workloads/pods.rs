//! Pods with every kind of container, and containers with restart rules.

use anyhow::{Context, Result, ensure};
use e2e::{BUSYBOX, Cluster, POD, STAY, api_pod, container};
use serde_json::{Value, json};

/// Two init containers in order, a sidecar that stays, and a debug container that sees the main one's processes.
pub(super) async fn mixed(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let mount = json!([{ "name": "work", "mountPath": "/work" }]);
    let mounted = json!({ "volumeMounts": mount });
    let sidecar = json!({ "volumeMounts": mount, "restartPolicy": "Always" });
    let spec = json!({
        "initContainers": [
            container("first", "echo first >> /work/order", mounted.clone()),
            container("helper", &format!("echo helper >> /work/order; {STAY}"), sidecar),
            // The sidecar is started, but nothing says that its first line has run.
            container(
                "second",
                "until grep -q helper /work/order; do sleep 0.1; done; echo second >> /work/order",
                mounted.clone(),
            ),
        ],
        "containers": [container("main", &format!("echo main >> /work/order; {STAY}"), mounted)],
        "volumes": [{ "name": "work", "emptyDir": {} }],
    });
    objects.apply(&api_pod("mixed", spec)).await?;
    let pod = objects.ready("mixed").await?;
    let inits = pod["status"]["initContainerStatuses"]
        .as_array()
        .context("no init containers")?;
    let ended = |name: &str| state(inits, name)["terminated"]["exitCode"] == 0;
    ensure!(ended("first") && ended("second"), "{inits:?}");
    ensure!(!state(inits, "helper")["running"].is_null(), "{inits:?}");
    let order = ["exec", "mixed", "-c", "main", "--", "cat", "/work/order"];
    let order = cluster.kubectl.run(&order).await?;
    ensure!(order == "first\nhelper\nsecond\nmain\n", "{order}");

    let image = format!("--image={BUSYBOX}");
    let line = "grep -q sleep /proc/*/cmdline && echo seen";
    let debug = [
        "debug",
        "mixed",
        "--container=looker",
        "--target=main",
        &image,
        "--profile=general",
        "--",
        "/bin/sh",
        "-c",
        line,
    ];
    cluster.kubectl.run(&debug).await?;
    objects
        .until(POD, "mixed", |pod| {
            let all = pod["status"]["ephemeralContainerStatuses"].as_array();
            let ended = state(all.context("no debug container")?, "looker");
            ensure!(ended["terminated"]["exitCode"] == 0, "{ended}");
            Ok(())
        })
        .await?;
    let seen = cluster
        .kubectl
        .run(&["logs", "mixed", "-c", "looker"])
        .await?;
    ensure!(seen == "seen\n", "{seen}");
    let restarts = &objects.get(POD, "mixed").await?["status"]["containerStatuses"][0];
    ensure!(restarts["restartCount"] == 0, "{restarts}");
    Ok(())
}

/// In a pod that never restarts, exit code 42 is restarted by a rule, and 0 ends the container.
pub(super) async fn restart_rules(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let line = "test -e /work/again && exit 0; touch /work/again; exit 42";
    let rules = json!({
        "volumeMounts": [{ "name": "work", "mountPath": "/work" }],
        "restartPolicy": "Never",
        "restartPolicyRules": [
            { "action": "Restart", "exitCodes": { "operator": "In", "values": [42] } },
        ],
    });
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [container("main", line, rules)],
        "volumes": [{ "name": "work", "emptyDir": {} }],
    });
    objects.apply(&api_pod("rules", spec)).await?;
    let pod = objects.phase("rules", "Succeeded").await?;
    let status = &pod["status"]["containerStatuses"][0];
    ensure!(status["restartCount"] == 1, "{status}");
    ensure!(status["state"]["terminated"]["exitCode"] == 0, "{status}");
    ensure!(
        status["lastState"]["terminated"]["exitCode"] == 42,
        "{status}"
    );
    Ok(())
}

/// State of a container by its name; null when it has none.
fn state<'a>(statuses: &'a [Value], name: &str) -> &'a Value {
    let status = statuses.iter().find(|status| status["name"] == name);
    status.map_or(&Value::Null, |status| &status["state"])
}
