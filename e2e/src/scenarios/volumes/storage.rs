//! Volumes that hold a pod's own data: emptyDir on disk and in memory, sub-paths of it, a local PersistentVolume, an
//! image, and NFS from a server that is not there.

use std::fs;

use anyhow::{Result, ensure};
use e2e::{
    BUSYBOX, Cluster, HOSTNAME, PERSISTENT_VOLUME_CLAIM, Runtime, STAY, api_pod, container,
    metadata,
};
use serde_json::{Value, json};

use super::{ensure_inside, inside};

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let (own, image, nfs) = tokio::join!(own(cluster), image(cluster), nfs(cluster));
    own?;
    image?;
    nfs
}

async fn own(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let local = local_volume(cluster).await?;
    let mounts = json!([
        { "name": "disk", "mountPath": "/disk" },
        { "name": "memory", "mountPath": "/memory" },
        { "name": "disk", "mountPath": "/sub", "subPath": "made/below" },
        { "name": "disk", "mountPath": "/mine", "subPathExpr": "of-$(POD_NAME)" },
        { "name": "disk", "mountPath": "/read", "readOnly": true },
        { "name": "local", "mountPath": "/local" },
    ]);
    let name = json!({ "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } });
    let main = json!({ "volumeMounts": mounts, "env": [name] });
    let beside = json!({ "volumeMounts": [{ "name": "disk", "mountPath": "/disk" }] });
    let spec = json!({
        "volumes": [
            { "name": "disk", "emptyDir": {} },
            { "name": "memory", "emptyDir": { "medium": "Memory", "sizeLimit": "16Mi" } },
            { "name": "local", "persistentVolumeClaim": { "claimName": "local" } },
        ],
        "containers": [container("main", STAY, main), container("beside", STAY, beside)],
    });
    objects.apply(&api_pod("storage", spec)).await?;
    objects.ready("storage").await?;
    for (line, expected) in [
        ("stat -c %a /disk", "777\n"),
        ("echo shared > /disk/file; touch /sub/one /mine/two", ""),
        (
            "cd /disk; ls -d made/below/* of-storage/*",
            "made/below/one\nof-storage/two\n",
        ),
        (
            "cat /read/file; touch /read/new 2>/dev/null || echo read-only",
            "shared\nread-only\n",
        ),
        ("cat /local/here; echo there > /local/new", "on the node\n"),
    ] {
        ensure_inside(cluster, "storage", line, expected).await?;
    }
    let memory = inside(cluster, "storage", "grep ' /memory ' /proc/mounts").await?;
    ensure!(
        memory.starts_with("tmpfs") && memory.contains("size=16384k"),
        "{memory}"
    );
    let cri = cluster.node.cri();
    let beside = cri.running("storage", "beside").await?.id;
    ensure!(cri.shell(&beside, "cat /disk/file").await? == "shared\n");
    ensure!(fs::read_to_string(local.join("new"))? == "there\n");
    Ok(())
}

/// A local volume that a claim is bound to; gives its folder.
async fn local_volume(cluster: &Cluster) -> Result<std::path::PathBuf> {
    let objects = cluster.objects();
    let folder = cluster.node.scratch("local-volume")?;
    fs::write(folder.join("here"), "on the node\n")?;
    let here = json!({ "key": "kubernetes.io/hostname", "operator": "In", "values": [HOSTNAME] });
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": "local" },
        "spec": {
            "capacity": { "storage": "1Gi" },
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "local": { "path": folder },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [here] }] } },
        },
    });
    objects.apply(&volume).await?;
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata("local"),
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": "local",
            "resources": { "requests": { "storage": "1Gi" } },
        },
    });
    objects.apply(&claim).await?;
    objects
        .until(PERSISTENT_VOLUME_CLAIM, "local", |claim| {
            ensure!(claim["status"]["phase"] == "Bound", "it is not bound");
            Ok(())
        })
        .await?;
    Ok(folder)
}

/// An image's files as a volume. containerd can do that since 2.1, and parts of an image only later.
async fn image(cluster: &Cluster) -> Result<()> {
    if cluster.node.containerd.how().runtime == Runtime::V1_7 {
        return Ok(());
    }
    let objects = cluster.objects();
    let mounts = json!([{ "name": "image", "mountPath": "/image" }]);
    let spec = json!({
        "volumes": [{ "name": "image", "image": { "reference": BUSYBOX, "pullPolicy": "IfNotPresent" } }],
        "containers": [container("main", STAY, json!({ "volumeMounts": mounts }))],
    });
    objects.apply(&api_pod("image", spec)).await?;
    objects.ready("image").await?;
    let line =
        "cmp /image/bin/busybox /bin/busybox && cmp /image/etc/group /etc/group && echo same";
    ensure_inside(cluster, "image", line, "same\n").await?;
    let line = "touch /image/new 2>/dev/null || echo read-only";
    ensure_inside(cluster, "image", line, "read-only\n").await
}

/// The mount fails, the pod waits, and it can be deleted.
async fn nfs(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let spec: Value = json!({
        "volumes": [{ "name": "share", "nfs": { "server": "127.0.0.1", "path": "/none" } }],
        "containers": [container("main", STAY, json!({
            "volumeMounts": [{ "name": "share", "mountPath": "/share" }],
        }))],
    });
    objects.apply(&api_pod("nfs", spec)).await?;
    let said = objects.told(
        "nfs",
        "FailedMount",
        "MountVolume.SetUp failed for volume \"share\" : mount failed: ",
    );
    let said = said.await?;
    for part in [
        "exit status 32",
        "Mounting command: mount",
        "-t nfs 127.0.0.1:/none ",
        "Output: ",
    ] {
        ensure!(said.contains(part), "no {part:?} in {said}");
    }
    objects.delete(e2e::POD, "nfs").await?;
    objects.gone(e2e::POD, "nfs").await
}
