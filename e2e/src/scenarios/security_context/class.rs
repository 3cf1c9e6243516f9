//! A RuntimeClass with a handler and an overhead, which the pod's limits are widened by.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, STAY, api_pod, container};
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;

pub(super) fn runtime_class() -> Value {
    json!({
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": { "name": "heavy" },
        "handler": "runc",
        "overhead": { "podFixed": { "cpu": "100m", "memory": "32Mi" } },
    })
}

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let limits = json!({ "resources": { "limits": { "cpu": "200m", "memory": "64Mi" } } });
    let spec = json!({
        "runtimeClassName": "heavy",
        "containers": [container("main", STAY, limits)],
    });
    cluster.objects().apply(&api_pod("heavy", spec)).await?;
    let pod = cluster.objects().ready("heavy").await?;
    ensure!(
        pod["spec"]["overhead"]["memory"] == "32Mi",
        "{}",
        pod["spec"]
    );
    let cri = cluster.node.cri();
    let sandboxes = cri.sandboxes().await?;
    let mut sandboxes = sandboxes.iter();
    let sandbox = sandboxes.find(|one| {
        one.metadata
            .as_ref()
            .is_some_and(|metadata| metadata.name == "heavy")
    });
    let handler = &sandbox.context("no sandbox")?.runtime_handler;
    ensure!(handler == "runc", "the handler is {handler:?}");

    let main = cri.running("heavy", "main").await?.id;
    let own = memory_cgroup(cri.pid(&main).await?)?;
    let pod = own
        .parent()
        .context("a container's group lies in the pod's")?;
    let (own, pod) = (limit(&own)?, limit(pod)?);
    ensure!(
        own == 64 * MIB && pod == 96 * MIB,
        "the container may have {own} bytes, the pod {pod}"
    );
    Ok(())
}

/// Folder of the group that limits a process's memory, in either version of cgroups.
fn memory_cgroup(pid: i64) -> Result<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
    let parts = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1).map(str::to_owned);
        Some((parts.next()?, parts.next()?))
    };
    let all: Vec<(String, String)> = text.lines().filter_map(parts).collect();
    let mut old = all
        .iter()
        .filter(|(names, _)| names.split(',').any(|name| name == "memory"));
    let root = Path::new("/sys/fs/cgroup");
    let (root, path) = match old.next() {
        Some((_, path)) => (root.join("memory"), path),
        None => (root.to_owned(), &all.first().context("no cgroup")?.1),
    };
    Ok(root.join(path.trim_start_matches('/')))
}

fn limit(group: &Path) -> Result<u64> {
    let files = ["memory.limit_in_bytes", "memory.max"];
    let mut texts = files
        .iter()
        .filter_map(|file| fs::read_to_string(group.join(file)).ok());
    let text = texts
        .next()
        .with_context(|| format!("no limit in {}", group.display()))?;
    Ok(text.trim().parse()?)
}
