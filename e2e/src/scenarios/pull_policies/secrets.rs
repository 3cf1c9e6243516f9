//! An image behind a password: brought by the right secret, and from then on only for those who have it.

use anyhow::{Result, ensure};
use e2e::{Cluster, POD, Registry};

use super::{asked, ensure_prints, fails_to_pull, pod, waits};

pub(super) async fn check(cluster: &Cluster, registry: &Registry) -> Result<()> {
    let node = &cluster.node;
    let objects = cluster.objects();
    let closed = registry.push(node, "team/closed:1", &[("etc/mark", "closed\n")])?;
    let image = registry.push(node, "team/tool:1", &[("etc/mark", "tool\n")])?;
    for (name, secret) in [("without", ""), ("guessed", "wrong"), ("no-such", "absent")] {
        objects
            .apply(&pod(name, &closed, "IfNotPresent", secret))
            .await?;
    }
    ensure_prints(
        cluster,
        &pod("owner", &image, "IfNotPresent", "right"),
        "tool\n",
    )
    .await?;
    let said = objects
        .told("owner", "Pulled", "Successfully pulled image")
        .await?;
    ensure!(said.contains("including waiting). Image size: "), "{said}");

    shared(cluster, registry, &image).await?;

    for name in ["without", "guessed", "no-such"] {
        fails_to_pull(cluster, name, &closed).await?;
    }
    objects
        .told("no-such", "FailedToRetrieveImagePullSecret", "absent")
        .await?;
    for name in [
        "without",
        "guessed",
        "no-such",
        "thief",
        "thief-guessed",
        "thief-never",
    ] {
        let pod = objects.get(POD, name).await?;
        let status = &pod["status"]["containerStatuses"][0];
        ensure!(
            status["containerID"].is_null() && status["restartCount"] == 0,
            "{status}"
        );
    }
    Ok(())
}

/// The image is on the node now: for whoever has the password, and for nobody else.
async fn shared(cluster: &Cluster, registry: &Registry, image: &str) -> Result<()> {
    let objects = cluster.objects();
    // Whoever has the password may use it, and nobody asks the registry.
    let before = asked(cluster, registry, image);
    ensure!(before > 0, "the registry's log says nothing of {image}");
    for secret in ["right", "same"] {
        let name = format!("friend-{secret}");
        ensure_prints(
            cluster,
            &pod(&name, image, "IfNotPresent", secret),
            "tool\n",
        )
        .await?;
        let text = format!(
            "Container image \"{image}\" already present on machine and can be accessed by the pod"
        );
        objects.told(&name, "Pulled", &text).await?;
    }
    ensure_prints(
        cluster,
        &pod("friend-never", image, "Never", "right"),
        "tool\n",
    )
    .await?;
    ensure!(
        asked(cluster, registry, image) == before,
        "the registry was asked for {image}"
    );
    // Whoever has not may not.
    for (name, secret) in [("thief", ""), ("thief-guessed", "wrong")] {
        objects
            .apply(&pod(name, image, "IfNotPresent", secret))
            .await?;
    }
    objects
        .apply(&pod("thief-never", image, "Never", ""))
        .await?;
    for name in ["thief", "thief-guessed"] {
        fails_to_pull(cluster, name, image).await?;
    }
    let said = waits(cluster, "thief-never", &["ErrImageNeverPull"]).await?;
    let text = format!("Container image \"{image}\" is not present with pull policy of Never");
    ensure!(said == text, "{said}");
    objects
        .told("thief-never", "ErrImageNeverPull", &text)
        .await?;
    // Their failures take nothing from those who have the password.
    ensure_prints(
        cluster,
        &pod("owner-again", image, "IfNotPresent", "right"),
        "tool\n",
    )
    .await?;
    Ok(())
}
