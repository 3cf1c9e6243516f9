//! Sub-paths that lead out of their volume by a link: refused, also when another container of the pod swaps the link
//! while containers start.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, POD, api_pod, container};
use serde_json::{Value, json};

/// Containers that start while the link is swapped. Each one is started again and again until its path is a good one.
const TRIES: usize = 16;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let outside = cluster.node.scratch("outside")?;
    fs::write(outside.join("mark"), "outside\n")?;
    let (still, swapped) = tokio::join!(still(cluster, &outside), swapped(cluster, &outside));
    still?;
    swapped?;
    let names = fs::read_dir(&outside)?.map(|entry| entry.map(|entry| entry.file_name()));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    ensure!(names == ["mark"], "in the host's folder there is {names:?}");
    Ok(())
}

/// Links that lead out, absolute and by steps up, to a folder and to a file; one that stays inside is fine.
async fn still(cluster: &Cluster, outside: &Path) -> Result<()> {
    let objects = cluster.objects();
    let outside = outside.display();
    // From the volume's folder up to the root, however deep it lies.
    let up = "../".repeat(20);
    let links = format!(
        "mkdir /work/in; echo inside > /work/in/mark; ln -s in /work/good; ln -s {outside} /work/folder; \
         ln -s {outside}/mark /work/file; ln -s {up}{outside} /work/steps; ln -s {outside}/new /work/new"
    );
    let mounted = |name: &str, line: &str, path: &str| {
        let mounts = json!([{ "name": "work", "mountPath": "/sub", "subPath": path }]);
        container(name, line, json!({ "volumeMounts": mounts }))
    };
    let whole = json!({ "volumeMounts": [{ "name": "work", "mountPath": "/work" }] });
    let bad = ["folder", "file", "steps", "new"];
    let mut containers = vec![mounted("good", "cat /sub/mark", "good")];
    containers
        .extend(bad.map(|path| mounted(path, "cat /sub/mark /sub; touch /sub/touched", path)));
    let spec = json!({
        "restartPolicy": "Never",
        "volumes": [{ "name": "work", "emptyDir": {} }],
        "initContainers": [container("links", &links, whole)],
        "containers": containers,
    });
    objects.apply(&api_pod("escapes", spec)).await?;
    objects
        .until(POD, "escapes", |pod| {
            for path in bad {
                let waiting = &status(pod, path)?["state"]["waiting"];
                ensure!(
                    waiting["reason"] == "CreateContainerConfigError",
                    "{path}: {waiting}"
                );
                let said = waiting["message"].as_str().unwrap_or_default();
                let of = format!("subPath for volumeMount \"work\" of container \"{path}\"");
                let new =
                    format!("subPath directory for volumeMount \"work\" of container \"{path}\"");
                ensure!(said.contains(&of) || said.contains(&new), "{path}: {said}");
            }
            let good = &status(pod, "good")?["state"]["terminated"];
            ensure!(good["exitCode"] == 0, "good: {good}");
            Ok(())
        })
        .await?;
    let good = cluster
        .kubectl
        .run(&["logs", "escapes", "-c", "good"])
        .await?;
    ensure!(good == "inside\n", "{good}");
    // It never ends by itself.
    objects.delete(POD, "escapes").await
}

/// A sidecar swaps the link as fast as it can, three times in four for one that stays inside.
async fn swapped(cluster: &Cluster, outside: &Path) -> Result<()> {
    let objects = cluster.objects();
    let outside = outside.display();
    let swap = format!(
        "trap 'exit 0' TERM; cd /work; mkdir in; echo inside > in/mark; ln -s in sub; \
         put() {{ ln -s $1 next; mv -T next sub; }}; \
         while :; do put {outside}; put in; put in; put in; done"
    );
    let swapper = json!({
        "restartPolicy": "Always",
        "volumeMounts": [{ "name": "work", "mountPath": "/work" }],
        "startupProbe": { "exec": { "command": ["test", "-L", "/work/sub"] }, "periodSeconds": 1 },
    });
    let mounts = json!([{ "name": "work", "mountPath": "/sub", "subPath": "sub" }]);
    let tries = (0..TRIES).map(|number| {
        let more = json!({ "volumeMounts": mounts });
        container(
            &format!("try-{number}"),
            "touch /sub/touched; cat /sub/mark",
            more,
        )
    });
    let spec = json!({
        "restartPolicy": "Never",
        "volumes": [{ "name": "work", "emptyDir": {} }],
        "initContainers": [container("swapper", &swap, swapper)],
        "containers": tries.collect::<Vec<_>>(),
    });
    objects.apply(&api_pod("swapped", spec)).await?;
    objects.phase("swapped", "Succeeded").await?;
    for number in 0..TRIES {
        let name = format!("try-{number}");
        let said = cluster
            .kubectl
            .run(&["logs", "swapped", "-c", &name])
            .await?;
        ensure!(said == "inside\n", "{name} has seen {said}");
    }
    Ok(())
}

fn status<'a>(pod: &'a Value, container: &str) -> Result<&'a Value> {
    let statuses = pod["status"]["containerStatuses"].as_array();
    let found = statuses
        .into_iter()
        .flatten()
        .find(|one| one["name"] == container);
    found.with_context(|| format!("no status of {container}"))
}
