//! Volumes and security context: emptyDir on disk and in memory, shared between containers; hostPath with its types;
//! read-only mounts and sub-paths; users, groups and capabilities.

use std::fs;

use anyhow::{Result, ensure};
use e2e::{Node, STAY, container, full_name, pod, until};
use serde_json::json;

use crate::scenarios::{POD_LIMIT, gone, running, told};

pub(super) async fn check(node: &Node) -> Result<()> {
    let (volumes, refused, security) = tokio::join!(volumes(node), refused(node), security(node));
    volumes?;
    refused?;
    security
}

async fn volumes(node: &Node) -> Result<()> {
    let host = node.scratch("host-path")?;
    fs::create_dir(host.join("sub"))?;
    fs::write(host.join("sub/file"), "from the host\n")?;
    let mounts = json!([
        { "name": "disk", "mountPath": "/disk" },
        { "name": "memory", "mountPath": "/memory" },
        { "name": "host", "mountPath": "/host", "readOnly": true },
        { "name": "host", "mountPath": "/sub", "subPath": "sub" },
    ]);
    let other = json!({ "volumeMounts": [{ "name": "disk", "mountPath": "/other" }] });
    let spec = json!({
        "volumes": [
            { "name": "disk", "emptyDir": {} },
            { "name": "memory", "emptyDir": { "medium": "Memory", "sizeLimit": "16Mi" } },
            { "name": "host", "hostPath": { "path": host, "type": "Directory" } },
        ],
        "containers": [
            container("main", STAY, json!({ "volumeMounts": mounts })),
            container("other", STAY, other),
        ],
    });
    node.agent.apply("volumes", &pod("volumes", spec))?;
    let main = running(node, "volumes").await?;
    // Main containers start side by side.
    let other = until("a running container other", POD_LIMIT, async || {
        let container = node.cri().running(&full_name("volumes"), "other").await?;
        Ok(container.id)
    })
    .await?;
    node.cri().shell(&main, "echo shared > /disk/file").await?;
    ensure!(node.cri().shell(&other, "cat /other/file").await? == "shared\n");
    ensure!(
        node.cri()
            .shell(&main, "cat /host/sub/file /sub/file")
            .await?
            == "from the host\n".repeat(2)
    );
    ensure!(
        node.cri().shell(&main, "touch /host/new").await.is_err(),
        "a read-only mount was written"
    );
    node.cri().shell(&main, "touch /sub/new").await?;
    ensure!(host.join("sub/new").exists());
    let mounts = node
        .cri()
        .shell(&main, "grep ' /memory ' /proc/mounts")
        .await?;
    ensure!(
        mounts.starts_with("tmpfs") && mounts.contains("size=16384k"),
        "{mounts}"
    );
    node.agent.remove("volumes")?;
    gone(node, "volumes").await?;
    ensure!(
        host.join("sub/file").exists(),
        "the host's own files went with the pod"
    );
    Ok(())
}

/// A hostPath that is not what the manifest says: the pod waits with the path in its reason.
async fn refused(node: &Node) -> Result<()> {
    let path = node.scratch("no-path")?.join("absent");
    let mounts = json!([{ "name": "host", "mountPath": "/host" }]);
    let spec = json!({
        "volumes": [{ "name": "host", "hostPath": { "path": path, "type": "Directory" } }],
        "containers": [container("main", STAY, json!({ "volumeMounts": mounts }))],
    });
    node.agent.apply("no-path", &pod("no-path", spec))?;
    told(node, "no-path", &["Pending", &path.display().to_string()]).await?;
    fs::create_dir(&path)?;
    running(node, "no-path").await?;
    node.agent.remove("no-path")
}

async fn security(node: &Node) -> Result<()> {
    let context = json!({
        "runAsUser": 1000, "runAsGroup": 1000, "readOnlyRootFilesystem": true,
        "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] },
    });
    let mounts = json!([{ "name": "disk", "mountPath": "/disk" }]);
    let more = json!({ "securityContext": context, "volumeMounts": mounts });
    let spec = json!({
        "securityContext": { "fsGroup": 3000, "supplementalGroups": [4000] },
        "volumes": [{ "name": "disk", "emptyDir": {} }],
        "containers": [container("main", STAY, more)],
    });
    node.agent.apply("secured", &pod("secured", spec))?;
    let id = running(node, "secured").await?;
    ensure!(node.cri().shell(&id, "id -u; id -g").await? == "1000\n1000\n");
    let groups = node.cri().shell(&id, "id -G").await?;
    let groups: Vec<&str> = groups.split_whitespace().collect();
    ensure!(
        groups.contains(&"3000") && groups.contains(&"4000"),
        "{groups:?}"
    );
    ensure!(
        node.cri().shell(&id, "touch /new").await.is_err(),
        "the root was written"
    );
    node.cri().shell(&id, "touch /disk/new").await?;
    let status = node
        .cri()
        .shell(&id, "grep -E 'CapEff|NoNewPrivs' /proc/self/status")
        .await?;
    ensure!(
        status.contains("0000000000000000") && status.contains("NoNewPrivs:\t1"),
        "{status}"
    );
    node.agent.remove("secured")
}
