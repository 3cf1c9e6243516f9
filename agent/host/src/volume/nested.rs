//! Mount points inside a volume that containers get read-only: the runtime could not make them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::{Container, Pod};

/// Folders that the volume needs because a container mounts another one below it. A mount below
/// that one is made there, so it does not count.
pub(super) fn folders(pod: &Pod, volume: &str) -> BTreeSet<PathBuf> {
    let spec = pod.spec.iter();
    spec.flat_map(|spec| {
        spec.init_containers
            .iter()
            .flatten()
            .chain(&spec.containers)
    })
    .flat_map(|container| of_container(container, volume))
    .collect()
}

fn of_container(container: &Container, volume: &str) -> BTreeSet<PathBuf> {
    let mounts = || container.volume_mounts.iter().flatten();
    let targets: BTreeSet<PathBuf> = mounts().map(|mount| plain(&mount.mount_path)).collect();
    let mut folders = BTreeSet::new();
    for own in mounts()
        .filter(|mount| mount.name == volume)
        .map(|mount| plain(&mount.mount_path))
    {
        let below = |target: &&PathBuf| target.starts_with(&own) && **target != own;
        let inside: Vec<&PathBuf> = targets.iter().filter(below).collect();
        let direct = inside.iter().filter(|target| {
            !inside
                .iter()
                .any(|other| other != *target && target.starts_with(other))
        });
        folders.extend(
            direct
                .filter_map(|target| target.strip_prefix(&own).ok())
                .map(PathBuf::from),
        );
    }
    folders
}

/// The path without `.`, `..` and double slashes, from the container's root.
fn plain(path: &str) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests;
