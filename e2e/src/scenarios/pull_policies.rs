//! Image pulls: passwords from pod secrets and from a credential provider, the three policies, images that somebody
//! else's secret has brought, names that are none, and a failed pull that takes nothing from anybody.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, ClusterSetup, POD, Registry, api_pod, container};
use serde_json::{Value, json};

mod policies;
mod preloaded;
mod provider;
mod secrets;

/// After a failed pull the next one comes after 10 s and up to half as much more, on a pod's next look.
const AGAIN: Duration = Duration::from_secs(120);

pub(super) async fn run() -> Result<()> {
    let mut cluster = Cluster::without_agent(ClusterSetup::plain()?).await?;
    let provider = provider::install(&mut cluster)?;
    cluster.start_agent().await?;
    let registry = Registry::start(&cluster.node).await?;
    let objects = cluster.objects();
    for (name, password) in [
        ("right", Registry::PASSWORD),
        ("same", Registry::PASSWORD),
        ("wrong", "guessed"),
    ] {
        objects.apply(&Registry::secret(name, password)).await?;
    }
    let (secrets, policies, provided, preloaded) = tokio::join!(
        secrets::check(&cluster, &registry),
        policies::check(&cluster, &registry),
        provider::check(&cluster, &registry, &provider),
        preloaded::check(&cluster, &registry),
    );
    let outcomes = [
        ("secrets", secrets),
        ("policies", policies),
        ("credential provider", provided),
        ("an image that was there", preloaded),
    ];
    let failed: Vec<String> = outcomes
        .into_iter()
        .filter_map(|(name, outcome)| Some(format!("{name}: {:#}", outcome.err()?)))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    preloaded::check_hanging(&cluster, &registry).await?;
    ensure!(
        !cluster.node.agent.log().contains(Registry::PASSWORD),
        "the registry's password stands in the agent's log"
    );
    registry.stop()?;
    cluster.finish().await
}

/// A pod that prints the image's `/etc/mark` once; `secret` is empty for none.
fn pod(name: &str, image: &str, policy: &str, secret: &str) -> Value {
    let more = json!({ "image": image, "imagePullPolicy": policy });
    let mut spec = json!({
        "restartPolicy": "Never",
        "containers": [container("main", "cat /etc/mark", more)],
    });
    if !secret.is_empty() {
        spec["imagePullSecrets"] = json!([{ "name": secret }]);
    }
    api_pod(name, spec)
}

/// Runs such a pod to its end, in which it must have printed this.
async fn ensure_prints(cluster: &Cluster, pod: &Value, expected: &str) -> Result<()> {
    let name = pod["metadata"]["name"]
        .as_str()
        .context("a pod has a name")?;
    cluster.objects().apply(pod).await?;
    cluster
        .objects()
        .within(AGAIN)
        .phase(name, "Succeeded")
        .await?;
    let said = cluster.kubectl.run(&["logs", name]).await?;
    ensure!(said == expected, "{name} says {said:?}, not {expected:?}");
    Ok(())
}

/// Waits until the pod waits for one of these reasons; gives the message.
async fn waits(cluster: &Cluster, name: &str, reasons: &[&str]) -> Result<String> {
    cluster
        .objects()
        .until(POD, name, |pod| {
            let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
            let reason = waiting["reason"].as_str().unwrap_or_default();
            ensure!(reasons.contains(&reason), "{waiting}");
            ensure!(pod["status"]["phase"] == "Pending", "{}", pod["status"]);
            Ok(waiting["message"].as_str().unwrap_or_default().to_owned())
        })
        .await
        .with_context(|| format!("waiting for {reasons:?} of {name}"))
}

/// Waits through a failed pull and its back-off, with every event of both.
async fn fails_to_pull(cluster: &Cluster, name: &str, image: &str) -> Result<()> {
    let objects = cluster.objects();
    let said = waits(cluster, name, &["ImagePullBackOff"]).await?;
    let begin = format!("Back-off pulling image \"{image}\": ErrImagePull: ");
    ensure!(said.starts_with(&begin), "{name}: {said}");
    for (reason, text) in [
        ("Pulling", format!("Pulling image \"{image}\"")),
        ("Failed", format!("Failed to pull image \"{image}\": ")),
        ("Failed", "Error: ErrImagePull".to_owned()),
        ("BackOff", format!("Back-off pulling image \"{image}\"")),
        ("Failed", "Error: ImagePullBackOff".to_owned()),
    ] {
        objects.told(name, reason, &text).await?;
    }
    Ok(())
}

/// How often the image's manifest was asked for with success.
fn asked(cluster: &Cluster, registry: &Registry, image: &str) -> usize {
    let log = registry.log(&cluster.node);
    let (name, tag) = image.rsplit_once(':').unwrap_or((image, "latest"));
    let path = format!("/v2/{name}/manifests/{tag}");
    let path = path.replace(&format!("{}/", Registry::HOST), "");
    log.lines()
        .filter(|line| line.contains(&path) && line.contains(" 200 "))
        .count()
}
