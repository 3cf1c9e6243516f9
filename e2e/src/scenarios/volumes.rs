//! Volumes of a real control plane: every kind with its modes and owners, contents that follow their objects, pods that
//! wait for what is missing, and sub-paths that never lead out of their volume. Nothing stays mounted.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, ClusterSetup, until};
use serde_json::json;

mod escapes;
mod files;
mod host;
mod live;
mod owned;
mod projected;
mod signer;
mod storage;
mod waiting;

/// The stock kubelet sees a changed object when it looks at the pod again, which it does once in this time and up to
/// half as much later.
const LOOKS_AGAIN: &str = "4s";

pub(super) async fn run() -> Result<()> {
    let setup = ClusterSetup {
        kubelet: json!({ "syncFrequency": LOOKS_AGAIN }),
        ..ClusterSetup::plain()?
    };
    let mut cluster = Cluster::start(setup).await?;
    let (files, projected, storage, host, owned, live, waiting, escapes) = tokio::join!(
        files::check(&cluster),
        projected::check(&cluster),
        storage::check(&cluster),
        host::check(&cluster),
        owned::check(&cluster),
        live::check(&cluster),
        waiting::check(&cluster),
        escapes::check(&cluster),
    );
    let outcomes = [
        ("secret, configMap and downwardAPI", files),
        ("projected", projected),
        ("emptyDir, local, image and nfs", storage),
        ("hostPath", host),
        ("fsGroup", owned),
        ("live changes", live),
        ("missing objects", waiting),
        ("sub-paths that lead out", escapes),
    ];
    let failed: Vec<String> = outcomes
        .into_iter()
        .filter_map(|(name, outcome)| Some(format!("{name}: {:#}", outcome.err()?)))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    projected::renewed_token(&mut cluster).await?;
    cluster.finish().await
}

/// What a shell line prints in the running container `main` of a pod, asked past the agent.
async fn inside(cluster: &Cluster, pod: &str, line: &str) -> Result<String> {
    let main = cluster.node.cri().running(pod, "main").await?;
    cluster
        .node
        .cri()
        .shell(&main.id, line)
        .await
        .with_context(|| format!("in the pod {pod}"))
}

/// That a shell line prints just this.
async fn ensure_inside(cluster: &Cluster, pod: &str, line: &str, expected: &str) -> Result<()> {
    let said = inside(cluster, pod, line).await?;
    ensure!(
        said == expected,
        "`{line}` in {pod} says {said:?}, not {expected:?}"
    );
    Ok(())
}

/// Waits until a shell line prints just this.
async fn until_inside(
    cluster: &Cluster,
    pod: &str,
    line: &str,
    expected: &str,
    limit: Duration,
) -> Result<()> {
    let what = format!("{expected:?} from `{line}` in {pod}");
    until(&what, limit, async || {
        ensure_inside(cluster, pod, line, expected).await
    })
    .await
}
