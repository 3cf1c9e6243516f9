//! The stock kubelet in gpulet's place: what the same scenario does with it is the measure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};

use crate::footprint::{Footprint, cgroup_hierarchies};
use crate::netns::Netns;

/// Some of its paths are fixed below /var/lib/kubelet, so it has that folder for itself, in a mount namespace of its
/// own. Mounts below its root folder, a shared mount, must be seen by containerd outside.
const ENTER: &str = r#"
set -e
mount --make-private "$(findmnt --noheadings --output TARGET --target /var/lib)"
[ -d /var/lib/kubelet ] || { mount -t tmpfs tmpfs /var/lib; mkdir /var/lib/kubelet; }
mount --bind "$1" /var/lib/kubelet
shift
exec "$@"
"#;

/// Makes what it wants to find: its root folder as a shared mount, and the cgroup that the configuration names, which
/// it does not make itself.
pub(crate) fn prepare(footprint: &Footprint, root: &Path) -> Result<()> {
    for folder in [root.to_owned(), fixed(footprint)] {
        fs::create_dir_all(folder)?;
    }
    if !footprint.mounts().iter().any(|mount| mount == root) {
        mount_bind(root, root)?;
        mount_change(root, MountPropagationFlags::SHARED)?;
    }
    for hierarchy in cgroup_hierarchies() {
        fs::create_dir_all(hierarchy.join(footprint.name()))?;
    }
    Ok(())
}

/// The command that starts `kubelet` in both of its namespaces, up to the program.
pub(crate) fn command(netns: &Netns, footprint: &Footprint, kubelet: &Path) -> Command {
    let mut command = netns.command(Path::new("unshare"));
    command
        .args([
            "--mount",
            "--propagation",
            "unchanged",
            "/bin/sh",
            "-c",
            ENTER,
            "stock",
        ])
        .arg(fixed(footprint))
        .arg(kubelet);
    command
}

/// It removes containers' logs and the links to them once a minute, which may be after its end.
pub(crate) fn remove_log_links(footprint: &Footprint) -> Result<()> {
    for link in footprint.log_links() {
        fs::remove_file(link)?;
    }
    Ok(())
}

/// What stands for /var/lib/kubelet.
fn fixed(footprint: &Footprint) -> PathBuf {
    footprint.data_folder().join("var-lib-kubelet")
}
