//! A read-only mount of a folder with another mount in it: with `recursiveReadOnly` that one is read-only as well.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, POD};
use rustix::mount::{UnmountFlags, mount_bind, unmount};
use serde_json::json;

use super::Look;

/// A mount that ends with its owner.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        // The node's end would say that it is left.
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let folder = cluster.node.scratch("read-only")?;
    let (inner, other) = (folder.join("inner"), cluster.node.scratch("inner")?);
    fs::create_dir_all(&inner)?;
    mount_bind(&other, &inner).context("mounting a folder in a folder")?;
    let _mounted = Mounted(inner);
    let mount = |how: &str| {
        json!({ "volumeMounts": [{
            "name": "data", "mountPath": "/data", "readOnly": true, "recursiveReadOnly": how,
        }] })
    };
    let volume = json!({ "volumes": [{ "name": "data", "hostPath": { "path": folder } }] });
    let line = "touch /data/one; touch /data/inner/one && echo written";
    let refused = |path: &str| format!("touch: {path}: Read-only file system\n");
    let outer = refused("/data/one");
    let all = outer.clone() + &refused("/data/inner/one");
    for (name, how, sees) in [
        ("not-recursive", "Disabled", outer + "written\n"),
        ("recursive", "Enabled", all.clone()),
        ("if-possible", "IfPossible", all),
    ] {
        Look::new(name, line, mount(how), volume.clone(), &sees)
            .hold(cluster)
            .await
            .context(name)?;
        let pod = cluster.objects().get(POD, name).await?;
        let mounts = pod["status"]["containerStatuses"][0]["volumeMounts"].as_array();
        let mut mounts = mounts.into_iter().flatten();
        let data = mounts.find(|mount| mount["name"] == "data");
        let stated = &data.context("no mount in the status")?["recursiveReadOnly"];
        let recursive = how != "Disabled";
        let expected = if recursive { "Enabled" } else { "Disabled" };
        ensure!(stated == expected, "{name}: the status says {stated}");
    }
    Ok(())
}
