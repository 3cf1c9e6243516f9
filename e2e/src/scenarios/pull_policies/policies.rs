//! Always, IfNotPresent and Never, and names that are none.

use anyhow::{Result, ensure};
use e2e::{BUSYBOX, Cluster, Registry, api_pod, container};
use serde_json::json;

use super::{asked, ensure_prints, pod, waits};

pub(super) async fn check(cluster: &Cluster, registry: &Registry) -> Result<()> {
    let objects = cluster.objects();
    let absent = format!("{}/team/absent:1", Registry::HOST);
    objects
        .apply(&pod("never", &absent, "Never", "right"))
        .await?;
    objects
        .apply(&pod("misnamed", "Not/A/Name", "IfNotPresent", ""))
        .await?;
    let main = container(
        "main",
        "true",
        json!({ "image": BUSYBOX, "imagePullPolicy": "Never" }),
    );
    let once = json!({ "restartPolicy": "Never", "containers": [main] });
    objects.apply(&api_pod("never-there", once)).await?;

    let image = registry.push(&cluster.node, "team/policy:1", &[("etc/mark", "one\n")])?;
    ensure_prints(
        cluster,
        &pod("first", &image, "IfNotPresent", "right"),
        "one\n",
    )
    .await?;
    let before = asked(cluster, registry, &image);
    ensure_prints(
        cluster,
        &pod("second", &image, "IfNotPresent", "right"),
        "one\n",
    )
    .await?;
    ensure!(
        asked(cluster, registry, &image) == before,
        "IfNotPresent asked for an image that was there"
    );
    ensure_prints(cluster, &pod("always", &image, "Always", "right"), "one\n").await?;
    ensure!(
        asked(cluster, registry, &image) > before,
        "Always did not ask"
    );
    objects
        .told(
            "always",
            "Pulled",
            &format!("Successfully pulled image \"{image}\""),
        )
        .await?;

    let said = waits(cluster, "never", &["ErrImageNeverPull"]).await?;
    let text = format!("Container image \"{absent}\" is not present with pull policy of Never");
    ensure!(said == text, "{said}");
    objects.told("never", "ErrImageNeverPull", &text).await?;
    objects
        .told("never", "Failed", "Error: ErrImageNeverPull")
        .await?;
    ensure!(
        asked(cluster, registry, &absent) == 0,
        "Never asked the registry"
    );
    objects.phase("never-there", "Succeeded").await?;

    let said = waits(cluster, "misnamed", &["InvalidImageName"]).await?;
    let begin = "Failed to apply default image tag \"Not/A/Name\": couldn't parse image name \"Not/A/Name\": ";
    ensure!(said.starts_with(begin), "{said}");
    objects.told("misnamed", "InspectFailed", begin).await?;
    objects
        .told("misnamed", "Failed", "Error: InvalidImageName")
        .await?;
    Ok(())
}
