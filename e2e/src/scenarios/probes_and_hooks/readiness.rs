//! Readiness comes and goes, and with it the pod's conditions and its place behind a service. The container stays.

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, HOSTNAME, Kind, POD, STAY, api_pod, condition, container, metadata};
use proto::grpc_health::health_check_response::ServingStatus;
use serde_json::json;

use super::{main_of, quick, status};
use crate::scenarios::health;

const ENDPOINT_SLICE: Kind = Kind {
    group: "/apis/discovery.k8s.io/v1",
    kind: "EndpointSlice",
    plural: "endpointslices",
    namespaced: true,
};
/// Port of the gRPC server in the node's network.
const GRPC: u16 = 9191;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let (exec, grpc) = tokio::join!(exec(cluster), grpc(cluster));
    exec.context("by exec")?;
    grpc.context("by gRPC")
}

async fn exec(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let service = json!({ "selector": { "app": "exec" }, "ports": [{ "port": 80 }] });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata("exec"), "spec": service,
    });
    objects.apply(&service).await?;
    let probe = quick(json!({ "exec": { "command": ["test", "-e", "/tmp/ready"] } }));
    let main = container("main", STAY, json!({ "readinessProbe": probe }));
    let mut pod = api_pod("exec", json!({ "containers": [main] }));
    pod["metadata"]["labels"] = json!({ "app": "exec" });
    objects.apply(&pod).await?;

    objects
        .told("exec", "Unhealthy", "Readiness probe failed: ")
        .await?;
    serves(cluster, false).await?;
    let id = main_of(cluster, "exec").await?;
    for line in ["touch /tmp/ready", "rm /tmp/ready", "touch /tmp/ready"] {
        cluster.node.cri().shell(&id, line).await?;
        let ready = line.starts_with("touch");
        is_ready(cluster, "exec", ready).await?;
        serves(cluster, ready).await?;
    }
    let pod = objects.get(POD, "exec").await?;
    let main = status(&pod, "main");
    ensure!(main["restartCount"] == 0, "{main}");
    ensure!(main["started"] == true, "{main}");
    Ok(())
}

/// The pod's conditions and its container say whether it is ready.
async fn is_ready(cluster: &Cluster, name: &str, ready: bool) -> Result<()> {
    let word = if ready { "True" } else { "False" };
    let look = cluster.objects().until(POD, name, |pod| {
        condition(pod, "Ready", word)?;
        condition(pod, "ContainersReady", word)?;
        let main = status(pod, "main");
        ensure!(main["ready"] == ready, "{main}");
        let conditions = pod["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let reason = conditions
            .find(|one| one["type"] == "Ready")
            .map(|one| &one["reason"]);
        let as_stock = ready || reason.is_some_and(|reason| reason == "ContainersNotReady");
        ensure!(as_stock, "the reason is {reason:?}");
        Ok(())
    });
    look.await
}

/// The service's slice has the pod as an endpoint that is ready or not.
async fn serves(cluster: &Cluster, ready: bool) -> Result<()> {
    let label = "kubernetes.io/service-name=exec";
    let look = cluster
        .objects()
        .until_all(ENDPOINT_SLICE, label, |slices| {
            let endpoint = &slices.first().context("no slice")?["endpoints"][0];
            ensure!(endpoint["nodeName"] == HOSTNAME, "{endpoint}");
            ensure!(endpoint["conditions"]["ready"] == ready, "{endpoint}");
            Ok(())
        });
    look.await
}

async fn grpc(cluster: &Cluster) -> Result<()> {
    let server = health::Server::start(&cluster.node.containerd.how().netns, GRPC)?;
    let probe = quick(json!({ "grpc": { "port": GRPC, "service": "store" } }));
    let main = container("main", STAY, json!({ "readinessProbe": probe }));
    let spec = json!({ "hostNetwork": true, "containers": [main] });
    cluster.objects().apply(&api_pod("grpc", spec)).await?;
    is_ready(cluster, "grpc", true).await?;
    server.set(ServingStatus::NotServing);
    is_ready(cluster, "grpc", false).await?;
    let said = "Readiness probe failed: service unhealthy (responded with \"NOT_SERVING\")";
    cluster.objects().told("grpc", "Unhealthy", said).await?;
    server.set(ServingStatus::Serving);
    is_ready(cluster, "grpc", true).await
}
