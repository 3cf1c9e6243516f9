//! Volumes of pods on this host: made, found again after a restart, and taken away.
//!
//! Layout, modes and contents are the stock kubelet's (Kubernetes 1.37), so that a node can change
//! hands under running pods. Every step may be repeated: a volume that was made half is finished,
//! one that is ready is left alone, nothing is mounted twice.
//!
//! What a container can write is entered only through file descriptors that cannot leave it, and
//! removed only below the pod's folder and never across a mount. Needs Linux 5.6 (`openat2`).

mod atomic;
mod beneath;
mod clean;
mod config_map;
mod downward;
mod empty_dir;
mod environment;
mod error;
mod fields;
mod host_path;
mod items;
mod kind;
mod local;
mod mount_program;
mod nested;
mod nfs;
mod objects;
mod ownership;
mod projected;
mod published;
mod secret;
mod sub_path;
#[cfg(test)]
mod testing;
mod unmount;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agent_core::{Fail, PodUid};
use agent_loops::ports::References;
use k8s_openapi::api::core::v1::{Pod, Volume};
use tracing::warn;

use crate::cgroup::Tree;
use crate::layout::Layout;
use error::Failure;
use kind::Kind;
use published::Medium;

pub(crate) use beneath::open_file;
pub(crate) use clean::remove_tree;
pub(crate) use environment::{Asking, environment};
pub(crate) use error::{Unmounted, VolumeError, failed};
pub(crate) use kind::{Resolved, Shown, resolve};
pub(crate) use sub_path::{SubPath, bind};

/// The pod whose volumes are made, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) tree: &'a Tree,
    pub(crate) uid: &'a PodUid,
    pub(crate) pod: &'a Pod,
    pub(crate) references: &'a References,
    /// `mount`, for file systems that need more than a system call.
    pub(crate) mount_program: &'a Path,
}

/// The volumes of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    /// Host path by volume name. Volumes that the runtime provides are missing.
    pub(crate) paths: BTreeMap<String, PathBuf>,
    /// Volumes that show their last content because there is no new one.
    pub(crate) stale: Vec<Fail>,
}

/// Makes all volumes that a container of the pod uses, and brings those up to date that are there. One
/// that fails does not keep the others from it. Kubernetes 1.37: a volume that no container uses is
/// not looked at.
pub(crate) fn make_all(making: Making<'_>) -> Result<Made, Unmounted> {
    let mut made = Made::default();
    let mut failures = Vec::new();
    let (mounts, devices) = used(making.pod);
    for volume in volumes(making.pod) {
        let as_device = devices.contains(&*volume.name);
        if !as_device && !mounts.contains(&*volume.name) {
            continue;
        }
        match make(making, volume, as_device) {
            Ok(Some(path)) => {
                made.paths.insert(volume.name.clone(), path);
            }
            Ok(None) => {}
            Err(error) => {
                let resolved = resolve(making.pod, making.references, volume).ok();
                let name = resolved.as_ref().map_or(&*volume.name, |each| each.name);
                let failure = Failure::new(&volume.name, name, error);
                let last = resolved.and_then(|each| last_content(making, &each));
                match last {
                    Some(path) => {
                        let fail = failure.fail("FailedMount");
                        warn!(uid = %making.uid, volume = volume.name, error = fail.message, "a volume keeps its last content");
                        made.paths.insert(volume.name.clone(), path);
                        made.stale.push(fail);
                    }
                    None => failures.push(failure),
                }
            }
        }
    }
    if failures.is_empty() {
        Ok(made)
    } else {
        Err(Unmounted(failures))
    }
}

/// All volumes of the manifest.
pub(crate) fn volumes(pod: &Pod) -> impl Iterator<Item = &Volume> {
    let spec = pod.spec.iter();
    spec.flat_map(|spec| spec.volumes.iter().flatten())
}

/// Names of volumes that containers mount, and of those that they take as devices.
fn used(pod: &Pod) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut mounts, mut devices) = (BTreeSet::new(), BTreeSet::new());
    if let Some(spec) = &pod.spec {
        let plain = spec
            .containers
            .iter()
            .chain(spec.init_containers.iter().flatten())
            .map(|each| (&each.volume_mounts, &each.volume_devices));
        let ephemeral = spec.ephemeral_containers.iter().flatten();
        let ephemeral = ephemeral.map(|each| (&each.volume_mounts, &each.volume_devices));
        for (of_mounts, of_devices) in plain.chain(ephemeral) {
            mounts.extend(of_mounts.iter().flatten().map(|each| &*each.name));
            devices.extend(of_devices.iter().flatten().map(|each| &*each.name));
        }
    }
    (mounts, devices)
}

fn make(
    making: Making<'_>,
    volume: &Volume,
    as_device: bool,
) -> Result<Option<PathBuf>, VolumeError> {
    let resolved = resolve(making.pod, making.references, volume)?;
    resolved.check_mode(&volume.name, as_device)?;
    let (name, read_only) = (resolved.name, resolved.read_only);
    let path = match resolved.kind {
        Kind::EmptyDir(source) => empty_dir::make(making, name, source)?,
        Kind::HostPath(source) => host_path::check(source)?,
        Kind::Secret(source) => {
            let files = secret::of_volume(making, source)?;
            published::publish(making, Medium::SECRET, name, &files)?
        }
        Kind::ConfigMap(source) => {
            let files = config_map::of_volume(making, source)?;
            published::publish(making, Medium::CONFIG_MAP, name, &files)?
        }
        Kind::DownwardApi(source) => {
            let items = source.items.as_deref().unwrap_or_default();
            let files = downward::files(making, items, source.default_mode)?;
            published::publish(making, Medium::DOWNWARD_API, name, &files)?
        }
        Kind::Projected(source) => {
            let files = projected::files(making, &volume.name, source)?;
            published::publish(making, Medium::PROJECTED, name, &files)?
        }
        Kind::Nfs { source, options } => nfs::mount(making, name, source, options, read_only)?,
        Kind::Local { source, options } => local::mount(making, name, source, options, read_only)?,
        Kind::Image(_) => return Ok(None),
        // The door to CSI drivers goes here: stage, publish, and the path of the publication.
        Kind::Csi => return Err(VolumeError::Unknown("CSI")),
        Kind::Other(kind) => return Err(VolumeError::Unknown(kind)),
    };
    Ok(Some(path))
}

/// Where a volume shows what was published last, by this process or an earlier one.
fn last_content(making: Making<'_>, resolved: &Resolved<'_>) -> Option<PathBuf> {
    let medium = match resolved.kind {
        Kind::Secret(_) => Medium::SECRET,
        Kind::ConfigMap(_) => Medium::CONFIG_MAP,
        Kind::DownwardApi(_) => Medium::DOWNWARD_API,
        Kind::Projected(_) => Medium::PROJECTED,
        _ => return None,
    };
    published::last(making, medium, resolved.name)
}

#[cfg(test)]
mod tests;
