//! All four kinds of probe: exec (readiness), HTTP (liveness), TCP (startup, which holds back the others) and gRPC
//! (readiness, against a server of this test in the node's network).

use anyhow::{Result, ensure};
use e2e::{Node, STAY, container, full_name, pod, until};
use proto::grpc_health::health_check_response::ServingStatus;
use serde_json::json;

use crate::scenarios::{POD_LIMIT, health, running};

/// Port of the gRPC server; the node's network is this test's alone.
const GRPC: u16 = 9191;

pub(super) async fn check(node: &Node) -> Result<()> {
    let (exec, http, tcp, grpc) = tokio::join!(exec(node), http(node), tcp(node), grpc(node));
    exec?;
    http?;
    tcp?;
    grpc
}

async fn exec(node: &Node) -> Result<()> {
    let probe = json!({ "exec": { "command": ["test", "-e", "/tmp/ready"] }, "periodSeconds": 1 });
    let main = container("main", STAY, json!({ "readinessProbe": probe }));
    node.agent
        .apply("exec", &pod("exec", json!({ "containers": [main] })))?;
    let id = running(node, "exec").await?;
    ready(node, "exec", false).await?;
    node.cri().shell(&id, "touch /tmp/ready").await?;
    ready(node, "exec", true).await?;
    node.cri().shell(&id, "rm /tmp/ready").await?;
    ready(node, "exec", false).await?;
    node.agent.remove("exec")
}

async fn http(node: &Node) -> Result<()> {
    let probe = json!({ "httpGet": { "port": 80, "path": "/ok" }, "periodSeconds": 1, "failureThreshold": 1 });
    let line = "echo fine > /www/ok; exec httpd -f -p 80 -h /www";
    let main = container("main", line, json!({ "livenessProbe": probe }));
    node.agent
        .apply("http", &pod("http", json!({ "containers": [main] })))?;
    let id = running(node, "http").await?;
    node.cri().shell(&id, "rm /www/ok").await?;
    until(
        "another container in place of the one that failed its probe",
        POD_LIMIT,
        async || {
            let now = node.cri().running(&full_name("http"), "main").await?.id;
            ensure!(now != id, "it is still the old one");
            Ok(())
        },
    )
    .await?;
    let told = node.agent.api()?.pod("http").await?;
    ensure!(
        told.containers.iter().all(|main| main.restart_count == 1),
        "{told:?}"
    );
    node.agent.remove("http")
}

/// The liveness probe would kill the container at once; the startup probe holds it back until the port is open.
async fn tcp(node: &Node) -> Result<()> {
    let line = "until test -e /tmp/go; do sleep 0.1; done; touch /tmp/alive; exec httpd -f -p 7000";
    let more = json!({
        "startupProbe": { "tcpSocket": { "port": 7000 }, "periodSeconds": 1, "failureThreshold": 60 },
        "livenessProbe": {
            "exec": { "command": ["test", "-e", "/tmp/alive"] }, "periodSeconds": 1, "failureThreshold": 1,
        },
    });
    node.agent.apply(
        "tcp",
        &pod(
            "tcp",
            json!({ "containers": [container("main", line, more)] }),
        ),
    )?;
    let id = running(node, "tcp").await?;
    ready(node, "tcp", false).await?;
    // Not a wait for a fact: in this time an early liveness probe would have killed it.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    ensure!(
        node.cri().running(&full_name("tcp"), "main").await?.id == id,
        "it was restarted"
    );
    node.cri().shell(&id, "touch /tmp/go").await?;
    ready(node, "tcp", true).await?;
    ensure!(
        node.cri().running(&full_name("tcp"), "main").await?.id == id,
        "it was restarted"
    );
    node.agent.remove("tcp")
}

async fn grpc(node: &Node) -> Result<()> {
    let server = health::Server::start(&node.containerd.how().netns, GRPC)?;
    let probe = json!({ "grpc": { "port": GRPC }, "periodSeconds": 1, "failureThreshold": 1 });
    let main = container("main", STAY, json!({ "readinessProbe": probe }));
    let spec = json!({ "hostNetwork": true, "containers": [main] });
    node.agent.apply("grpc", &pod("grpc", spec))?;
    running(node, "grpc").await?;
    ready(node, "grpc", true).await?;
    server.set(ServingStatus::NotServing);
    ready(node, "grpc", false).await?;
    server.set(ServingStatus::Serving);
    ready(node, "grpc", true).await?;
    node.agent.remove("grpc")
}

async fn ready(node: &Node, name: &str, expected: bool) -> Result<()> {
    let api = node.agent.api()?;
    until(
        &format!("{name} to be ready: {expected}"),
        POD_LIMIT,
        async || {
            let pod = api.pod(name).await?;
            ensure!(pod.phase == "Running" && pod.ready == expected, "{pod:?}");
            Ok(())
        },
    )
    .await
}
