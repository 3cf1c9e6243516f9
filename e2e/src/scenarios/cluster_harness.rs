//! The harness of clusters tests itself: a node joins by token, an image comes from a registry with a password, a service
//! address answers, and components stop and start.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use e2e::{
    CSR, Cluster, ClusterSetup, Component, Join, NODE, POD, Registry, SERVICE, api_pod, condition,
    container, metadata, until,
};
use serde_json::json;

use super::POD_LIMIT;

/// Of the services' range.
const ADDRESS: &str = "10.96.0.50";

pub(super) async fn run() -> Result<()> {
    let setup = ClusterSetup {
        join: Join::Bootstrap,
        proxy: true,
        ..ClusterSetup::plain()?
    };
    let mut cluster = Cluster::start(setup).await?;
    joined_by_token(&cluster).await?;
    let registry = Registry::start(&cluster.node).await?;
    pulled_with_secret(&cluster, &registry).await?;
    service_answers(&cluster).await?;
    components_stop_and_start(&mut cluster).await?;
    registry.stop()?;
    cluster.finish().await
}

async fn joined_by_token(cluster: &Cluster) -> Result<()> {
    let requests = cluster.objects().list(CSR, "").await?;
    let signer = "kubernetes.io/kube-apiserver-client-kubelet";
    let ours = requests.iter().find(|request| {
        let spec = &request["spec"];
        spec["signerName"] == signer && spec["username"] == "system:bootstrap:e2etok"
    });
    let ours = ours.with_context(|| format!("no request by the token: {requests:?}"))?;
    ensure!(ours["status"]["certificate"].is_string(), "{ours}");
    condition(ours, "Approved", "True")
}

async fn pulled_with_secret(cluster: &Cluster, registry: &Registry) -> Result<()> {
    let node = &cluster.node;
    let image = registry.push(node, "team/tool:1", &[("etc/mark", "one\n")])?;
    let objects = cluster.objects();
    let pod = |name: &str| {
        let main = container("main", "cat /etc/mark", json!({ "image": image }));
        api_pod(
            name,
            json!({
                "restartPolicy": "Never",
                "containers": [main],
                "imagePullSecrets": [{ "name": name }],
            }),
        )
    };
    objects.apply(&Registry::secret("wrong", "guessed")).await?;
    objects.apply(&pod("wrong")).await?;
    objects
        .until(POD, "wrong", |pod| {
            let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
            let reason = waiting["reason"].as_str().unwrap_or_default();
            ensure!(
                ["ErrImagePull", "ImagePullBackOff"].contains(&reason),
                "{waiting}"
            );
            Ok(())
        })
        .await?;
    objects.told("wrong", "Failed", &image).await?;
    objects
        .apply(&Registry::secret("right", Registry::PASSWORD))
        .await?;
    objects.apply(&pod("right")).await?;
    objects.phase("right", "Succeeded").await?;
    let said = cluster.kubectl.run(&["logs", "right"]).await?;
    ensure!(said == "one\n", "the image says {said}");
    ensure!(registry.log(node).contains("/v2/team/tool/manifests/1"));
    Ok(())
}

async fn service_answers(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let line = "echo hello > /www/index.html; exec httpd -f -p 80 -h /www";
    let mut pod = api_pod(
        "web",
        json!({ "containers": [container("main", line, json!({}))] }),
    );
    pod["metadata"]["labels"] = json!({ "app": "web" });
    objects.apply(&pod).await?;
    let spec = json!({
        "clusterIP": ADDRESS,
        "selector": { "app": "web" },
        "ports": [{ "port": 8080, "targetPort": 80 }],
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata("web"), "spec": spec,
    });
    objects.apply(&service).await?;
    objects.ready("web").await?;
    let address: SocketAddr = format!("{ADDRESS}:8080").parse()?;
    let netns = &cluster.node.containerd.how().netns;
    until("the service's answer", POD_LIMIT, async || {
        let said = netns.http_get(address, "/").await?;
        ensure!(said.ends_with("hello\n"), "it says {said}");
        Ok(())
    })
    .await?;
    objects.delete(SERVICE, "web").await
}

async fn components_stop_and_start(cluster: &mut Cluster) -> Result<()> {
    let before = cluster.node.cri().running("web", "main").await?.id;
    cluster.plane.stop(Component::ApiServer).await?;
    let asked = cluster.objects().get(NODE, e2e::HOSTNAME).await;
    ensure!(asked.is_err(), "a stopped API server answered");
    cluster.plane.kill(Component::Scheduler);
    cluster.plane.start(Component::ApiServer).await?;
    cluster.plane.start(Component::Scheduler).await?;
    let main = container("main", "true", json!({}));
    let once = json!({ "restartPolicy": "Never", "containers": [main] });
    cluster.objects().apply(&api_pod("after", once)).await?;
    cluster.objects().phase("after", "Succeeded").await?;
    let after = cluster.node.cri().running("web", "main").await?.id;
    ensure!(before == after, "the container is another one");
    Ok(())
}
