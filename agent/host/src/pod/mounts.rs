//! All mounts of one container instance.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use agent_core::{ContainerName, PodUid};
use agent_loops::ports::{MountSource, PreparedMount, PreparedPod, Propagation, References};
use k8s_openapi::api::core::v1::{Container, Pod, VolumeMount};

use super::{hosts, termination};
use crate::cgroup::Tree;
use crate::layout::{Layout, make_folder};
use crate::volume::{self, Asking, Shown, SubPath, VolumeError};

const ETC_HOSTS: &str = "/etc/hosts";

/// What the mounts are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preparing<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) tree: &'a Tree,
    pub(crate) cluster_domain: &'a str,
    pub(crate) uid: &'a PodUid,
    pub(crate) pod: &'a Pod,
    pub(crate) prepared: &'a PreparedPod,
    pub(crate) container: &'a Container,
    pub(crate) attempt: u32,
    pub(crate) ips: &'a [String],
    pub(crate) references: &'a References,
}

/// Volumes with their sub-paths, then `/etc/hosts` unless a volume is mounted there, then the
/// termination file.
pub(crate) fn all(preparing: Preparing<'_>) -> Result<Vec<PreparedMount>, VolumeError> {
    let mut mounts = Vec::new();
    let mut own_hosts = false;
    let variables = variables(preparing)?;
    for (at, mount) in preparing
        .container
        .volume_mounts
        .iter()
        .flatten()
        .enumerate()
    {
        own_hosts |= mount.mount_path == ETC_HOSTS;
        mounts.push(of_volume(preparing, at, mount, &variables)?);
    }
    let host_network = preparing
        .pod
        .spec
        .as_ref()
        .is_some_and(|spec| spec.host_network == Some(true));
    if !own_hosts && (host_network || !preparing.ips.is_empty()) {
        mounts.push(hosts_file(preparing)?);
    }
    if let Some(mount) = termination_file(preparing)? {
        mounts.push(mount);
    }
    Ok(mounts)
}

/// The container's environment, if a sub-path is made from it. Nothing else here may fail because a
/// variable cannot be had.
fn variables(preparing: Preparing<'_>) -> Result<BTreeMap<String, String>, VolumeError> {
    let mut mounts = preparing.container.volume_mounts.iter().flatten();
    let is_asked = |mount: &VolumeMount| {
        let expression = mount.sub_path_expr.as_deref();
        expression.is_some_and(|expression| !expression.is_empty())
    };
    if !mounts.any(is_asked) {
        return Ok(BTreeMap::new());
    }
    volume::environment(Asking {
        pod: preparing.pod,
        container: preparing.container,
        ips: preparing.ips,
        tree: preparing.tree,
        references: preparing.references,
    })
}

fn of_volume(
    preparing: Preparing<'_>,
    at: usize,
    mount: &VolumeMount,
    variables: &BTreeMap<String, String>,
) -> Result<PreparedMount, VolumeError> {
    let container = &preparing.container.name;
    let missing = || {
        VolumeError::Wrong(format!(
            "cannot find volume {:?} to mount into container {container:?}",
            mount.name
        ))
    };
    let volume = volume::volumes(preparing.pod)
        .find(|volume| volume.name == mount.name)
        .ok_or_else(missing)?;
    let resolved = volume::resolve(preparing.pod, preparing.references, volume)?;
    let inside = SubPath::inside(mount, variables)?;
    let source = match resolved.shown() {
        Shown::Image(reference) => MountSource::Image {
            volume: volume.name.clone(),
            reference: reference.to_owned(),
            sub_path: inside
                .map(|inside| inside.to_string_lossy().into_owned())
                .unwrap_or_default(),
        },
        Shown::Path => {
            let path = preparing.prepared.volumes.get(&mount.name);
            let path = path.ok_or_else(missing)?;
            let path = match inside {
                None => path.clone(),
                Some(inside) => part(preparing, (at, resolved.name, &mount.name), path, inside)?,
            };
            MountSource::Path(path)
        }
    };
    let read_only = mount.read_only == Some(true);
    let recursive = matches!(
        mount.recursive_read_only.as_deref(),
        Some("Enabled" | "IfPossible")
    );
    Ok(PreparedMount {
        source,
        container_path: absolute(&mount.mount_path),
        read_only: read_only || resolved.read_only,
        recursive_read_only: read_only && recursive,
        propagation: match mount.mount_propagation.as_deref() {
            Some("HostToContainer") => Propagation::HostToContainer,
            Some("Bidirectional") => Propagation::Bidirectional,
            _ => Propagation::Private,
        },
    })
}

/// Binds a part of a volume to the place of this mount: its number, the name of the volume's folder,
/// and its name in the pod.
fn part(
    preparing: Preparing<'_>,
    (at, folder, name): (usize, &str, &str),
    volume: &Path,
    inside: PathBuf,
) -> Result<PathBuf, VolumeError> {
    let container = ContainerName::new(&preparing.container.name);
    // Kubernetes 1.37 says this much; why is added to it.
    let told = format!(
        "failed to prepare subPath for volumeMount {name:?} of container {:?}",
        preparing.container.name
    );
    let target = preparing
        .layout
        .sub_path(preparing.uid, folder, &container, at);
    volume::bind(&SubPath {
        volume,
        inside,
        target: target.clone(),
        told,
    })?;
    Ok(target)
}

fn hosts_file(preparing: Preparing<'_>) -> Result<PreparedMount, VolumeError> {
    let path = preparing.layout.hosts_file(preparing.uid);
    let host_file = Path::new(ETC_HOSTS);
    hosts::write(
        &path,
        preparing.pod,
        preparing.ips,
        preparing.cluster_domain,
        host_file,
    )
    .map_err(volume::failed("write", &path))?;
    Ok(writable(path, ETC_HOSTS.to_owned()))
}

fn termination_file(preparing: Preparing<'_>) -> Result<Option<PreparedMount>, VolumeError> {
    let inside = preparing
        .container
        .termination_message_path
        .as_deref()
        .unwrap_or_default();
    if inside.is_empty() {
        return Ok(None);
    }
    let name = ContainerName::new(&preparing.container.name);
    let folder = preparing.layout.container(preparing.uid, &name);
    let make = || -> io::Result<PathBuf> {
        make_folder(&folder)?;
        termination::make(&folder, preparing.attempt)
    };
    let path = make().map_err(volume::failed("make a termination file in", &folder))?;
    Ok(Some(writable(path, absolute(inside))))
}

fn writable(host_path: PathBuf, container_path: String) -> PreparedMount {
    PreparedMount {
        source: MountSource::Path(host_path),
        container_path,
        read_only: false,
        recursive_read_only: false,
        propagation: Propagation::Private,
    }
}

/// A relative path counts from the container's root, as in the stock kubelet.
fn absolute(path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    }
}
