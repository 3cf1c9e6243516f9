//! The agent is killed twenty times at random moments while a Deployment rolls over several times: no container runs
//! twice, no pod is lost or restarted, no pod that was Ready stops being so, and in the end everything is as asked for.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{
    Cluster, ClusterSetup, DEPLOYMENT, POD, Software, container, deployment, ensure_ready, until,
};
use serde_json::{Value, json};
use tokio::sync::watch;

mod witness;

use super::POD_LIMIT;
use super::dice::Dice;
use witness::{Containers, Pods};

const NAME: &str = "web";
const REPLICAS: u32 = 10;
const KILLS: u32 = 20;
/// So many kills fall into each rollout.
const KILLS_PER_ROLLOUT: u32 = 5;
/// The longest life of an agent, from the start of its process. gpulet needs a third of a second until it acts, the
/// stock kubelet a second and a half, so that kills fall into starts as well as into work.
const LIFE: Duration = Duration::from_millis(3000);

pub(super) async fn run() -> Result<()> {
    let mut cluster = Cluster::start(ClusterSetup::plain()?).await?;
    let objects = cluster.objects().clone();
    objects.apply(&web(0)).await?;
    objects
        .until(DEPLOYMENT, NAME, |web| ensure_ready(web, REPLICAS))
        .await?;

    let (end, ended) = watch::channel(false);
    let (mut pods, mut containers) = (Pods::default(), Containers::default());
    let cri = cluster.node.cri().clone();
    let (churned, watched, seen) = tokio::join!(
        async {
            let outcome = churn(&mut cluster).await;
            end.send_replace(true);
            outcome
        },
        pods.watch(&objects, ended.clone()),
        containers.watch(&cri, ended.clone()),
    );
    churned?;
    watched.context("watching the pods")?;
    seen.context("watching the containers")?;
    let (mut faults, flips) = (pods.lost(), pods.flips());
    faults.extend(containers.faults());
    // The stock kubelet forgets what its probes have found.
    if cluster.node.agent.software == Software::Gpulet {
        faults.extend(flips);
    } else {
        tracing::info!("what the stock kubelet does beside: {}", flips.join("\n"));
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    ensure!(
        pods.count() > 2 * REPLICAS as usize,
        "it hardly rolled: {} pods",
        pods.count()
    );
    cluster.finish().await
}

/// Kills and rollouts, and the end, in which all is quiet.
async fn churn(cluster: &mut Cluster) -> Result<()> {
    let objects = cluster.objects().clone();
    let mut dice = Dice::from_env()?;
    let mut version = 0;
    for kill in 0..KILLS {
        if kill % KILLS_PER_ROLLOUT == 0 {
            version += 1;
            objects.apply(&web(version)).await?;
        }
        // Not a wait for a fact: the moment of the kill is what is varied.
        tokio::time::sleep(dice.moment(LIFE)).await;
        cluster.node.agent.kill();
        cluster.node.agent.launch(None)?;
    }
    objects
        .until(DEPLOYMENT, NAME, |web| ensure_ready(web, REPLICAS))
        .await?;
    let pods = objects
        .until_all(POD, "app=web", |pods| {
            ensure!(pods.len() == REPLICAS as usize, "{} pods", pods.len());
            let wanted = version.to_string();
            let new =
                |pod: &&Value| pod["spec"]["containers"][0]["env"][0]["value"] == wanted.as_str();
            ensure!(pods.iter().all(|pod| new(&pod)), "an old pod is there");
            Ok(pods.to_vec())
        })
        .await?;
    only_those(cluster, &pods).await
}

/// What runs on the node is what the API says: one container for each pod, under the id that its status has.
async fn only_those(cluster: &Cluster, pods: &[Value]) -> Result<()> {
    let mut expected: Vec<String> = pods
        .iter()
        .filter_map(|pod| pod["status"]["containerStatuses"][0]["containerID"].as_str())
        .filter_map(|id| Some(id.strip_prefix("containerd://")?.to_owned()))
        .collect();
    expected.sort();
    let names = pods
        .iter()
        .filter_map(|pod| pod["metadata"]["name"].as_str());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    until("the end of what is not asked for", POD_LIMIT, async || {
        let seen = cluster.node.cri().seen().await?;
        let mut running: Vec<String> = seen
            .into_iter()
            .filter(|one| one.running)
            .map(|one| one.id)
            .collect();
        running.sort();
        ensure!(
            running == expected,
            "{running:?} run, the API has {expected:?}"
        );
        let ready = cluster.node.cri().ready_pods().await?;
        ensure!(ready == names, "sandboxes of {ready:?}, pods {names:?}");
        Ok(())
    })
    .await
}

/// It is ready a moment after its start, and probed once a second.
fn web(version: u32) -> Value {
    let line = "trap 'exit 0' TERM; echo up > /www/index.html; httpd -f -p 80 -h /www & wait";
    let main = container(
        "main",
        line,
        json!({
            "env": [{ "name": "VERSION", "value": version.to_string() }],
            "readinessProbe": {
                "httpGet": { "path": "/", "port": 80 },
                "periodSeconds": 1,
                "timeoutSeconds": 5,
            },
        }),
    );
    let mut web = deployment(NAME, REPLICAS, json!({ "containers": [main] }));
    let rolling = json!({ "maxUnavailable": 2, "maxSurge": 3 });
    web["spec"]["strategy"] = json!({ "type": "RollingUpdate", "rollingUpdate": rolling });
    web
}
