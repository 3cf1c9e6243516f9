//! hostPath with every type, right and wrong.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use anyhow::{Result, ensure};
use e2e::{Cluster, STAY, api_pod, container};
use serde_json::json;

use super::ensure_inside;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let folder = cluster.node.scratch("host")?;
    fs::create_dir(folder.join("folder"))?;
    fs::write(folder.join("file"), "from the host\n")?;
    let _socket = UnixListener::bind(folder.join("socket"))?;
    let (right, wrong) = tokio::join!(right(cluster, &folder), wrong(cluster, &folder));
    right?;
    wrong
}

/// What is as the type says, or is made.
async fn right(cluster: &Cluster, folder: &Path) -> Result<()> {
    let path = |name: &str| folder.join(name).display().to_string();
    let right = [
        ("any", path("file"), ""),
        ("folder", path("folder"), "Directory"),
        ("file", path("file"), "File"),
        ("new-folder", path("new/folder"), "DirectoryOrCreate"),
        ("new-file", path("new-file"), "FileOrCreate"),
        ("socket", path("socket"), "Socket"),
        ("device", "/dev/null".to_owned(), "CharDevice"),
    ];
    let objects = cluster.objects();
    let volumes = right.iter().map(
        |(name, path, kind)| json!({ "name": name, "hostPath": { "path": path, "type": kind } }),
    );
    let mounts = right
        .iter()
        .map(|(name, ..)| json!({ "name": name, "mountPath": format!("/host/{name}") }));
    let more = json!({ "volumeMounts": mounts.collect::<Vec<_>>() });
    let spec = json!({
        "volumes": volumes.collect::<Vec<_>>(),
        "containers": [container("main", STAY, more)],
    });
    objects.apply(&api_pod("host", spec)).await?;
    objects.ready("host").await?;
    for (line, expected) in [
        ("cat /host/any /host/file", "from the host\nfrom the host\n"),
        (
            "test -S /host/socket && test -c /host/device && echo both",
            "both\n",
        ),
        (
            "stat -c %a:%s /host/new-folder | cut -d: -f1; stat -c %a:%s /host/new-file",
            "755\n644:0\n",
        ),
        ("touch /host/folder/new", ""),
    ] {
        ensure_inside(cluster, "host", line, expected).await?;
    }
    ensure!(folder.join("folder/new").exists());
    Ok(())
}

/// What is not as the type says: the pod waits.
async fn wrong(cluster: &Cluster, folder: &Path) -> Result<()> {
    let objects = cluster.objects();
    let path = |name: &str| folder.join(name).display().to_string();
    let wrong = [
        (
            "absent",
            path("absent"),
            "Directory",
            "directory, unable to determine its type: ",
        ),
        (
            "a-file",
            path("file"),
            "Directory",
            "directory, it's a File",
        ),
        ("a-folder", path("folder"), "File", "file, it's a Directory"),
        (
            "no-socket",
            path("file"),
            "Socket",
            "socket file, it's a File",
        ),
        (
            "no-device",
            path("file"),
            "CharDevice",
            "character device, it's a File",
        ),
        (
            "no-disk",
            "/dev/null".to_owned(),
            "BlockDevice",
            "block device, it's a CharDevice",
        ),
    ];
    for (name, path, kind, _) in &wrong {
        let mounts = json!([{ "name": "host", "mountPath": "/host" }]);
        let spec = json!({
            "volumes": [{ "name": "host", "hostPath": { "path": path, "type": kind } }],
            "containers": [container("main", STAY, json!({ "volumeMounts": mounts }))],
        });
        objects.apply(&api_pod(name, spec)).await?;
    }
    for (name, path, _, expected) in &wrong {
        let said = objects
            .told(
                name,
                "FailedMount",
                "MountVolume.SetUp failed for volume \"host\" : hostPath type check failed",
            )
            .await?;
        ensure!(
            said.contains(&format!("{path} is not a {expected}")),
            "{name}: {said}"
        );
    }
    // A pod that waits for its path starts when the path is there.
    fs::create_dir(folder.join("absent"))?;
    objects.ready("absent").await?;
    Ok(())
}
