//! nfs: a folder of another machine.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::NFSVolumeSource;
use rustix::mount::{UnmountFlags, unmount};

use super::{Making, VolumeError, beneath, failed, mount_program};
use crate::layout::make_folder;

/// Mounts the export, once.
pub(super) fn mount(
    making: Making<'_>,
    name: &str,
    source: &NFSVolumeSource,
    options: Vec<String>,
    read_only: bool,
) -> Result<PathBuf, VolumeError> {
    let target = making.layout.volume(making.uid, "nfs", name);
    if beneath::is_mount_point(&target).map_err(failed("look at", &target))? {
        return Ok(target);
    }
    let export = export(source)?;
    make_folder(&target).map_err(failed("make", &target))?;
    let options = joined(options, read_only.then_some("ro"));
    let shown = target.to_string_lossy();
    let mut arguments = vec!["-t", "nfs"];
    if !options.is_empty() {
        arguments.extend(["-o", &options]);
    }
    arguments.extend([&*export, &*shown]);
    mount_program::run(making.mount_program, &arguments).map_err(|why| {
        undo(&target);
        VolumeError::Wrong(why)
    })?;
    Ok(target)
}

/// `server:path`, the server in brackets if it is an address of IPv6.
fn export(source: &NFSVolumeSource) -> Result<String, VolumeError> {
    let NFSVolumeSource { server, path, .. } = source;
    if server.is_empty() || server.starts_with('-') {
        // The program would take it for an option.
        return Err(VolumeError::Manifest(format!(
            "nfs server {server:?} is no name of a server"
        )));
    }
    Ok(match server.parse::<Ipv6Addr>() {
        Ok(_) => format!("[{server}]:{path}"),
        Err(_) => format!("{server}:{path}"),
    })
}

/// Options with commas between, each once, sorted, as the stock kubelet gives them.
pub(super) fn joined(options: Vec<String>, more: Option<&str>) -> String {
    let mut all: BTreeSet<String> = options.into_iter().collect();
    all.extend(more.map(str::to_owned));
    all.remove("");
    let all: Vec<String> = all.into_iter().collect();
    all.join(",")
}

/// Nothing half mounted stays. What cannot be taken away now is taken for mounted, or goes with the pod.
pub(super) fn undo(target: &Path) {
    let flags = UnmountFlags::NOFOLLOW | UnmountFlags::DETACH;
    let _ = unmount(target, flags);
    let _ = std::fs::remove_dir(target);
}

#[cfg(test)]
mod tests;
