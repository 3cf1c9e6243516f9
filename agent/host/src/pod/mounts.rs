//! All bind mounts of one container instance.

use std::io;
use std::path::{Path, PathBuf};

use agent_core::{ContainerName, PodUid};
use agent_loops::ports::{PreparedMount, PreparedPod, Propagation, References};
use k8s_openapi::api::core::v1::{Container, Pod, Volume, VolumeMount};

use super::{hosts, termination};
use crate::cgroup::Tree;
use crate::layout::{Layout, make_folder};
use crate::volume::{self, SubPath, VolumeError};

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
    #[expect(dead_code, reason = "the volumes that show objects read it")]
    pub(crate) references: &'a References,
}

/// Volumes with their sub-paths, then `/etc/hosts` unless a volume is mounted there, then the
/// termination file.
pub(crate) fn all(preparing: Preparing<'_>) -> Result<Vec<PreparedMount>, VolumeError> {
    let mut mounts = Vec::new();
    let mut own_hosts = false;
    for (at, mount) in preparing
        .container
        .volume_mounts
        .iter()
        .flatten()
        .enumerate()
    {
        own_hosts |= mount.mount_path == ETC_HOSTS;
        // Images are mounted by the runtime.
        if let Some(prepared) = of_volume(preparing, at, mount)? {
            mounts.push(prepared);
        }
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

fn of_volume(
    preparing: Preparing<'_>,
    at: usize,
    mount: &VolumeMount,
) -> Result<Option<PreparedMount>, VolumeError> {
    let Some(volume) = preparing.prepared.volumes.get(&mount.name) else {
        return Ok(None);
    };
    let variables = volume::environment(
        preparing.pod,
        preparing.container,
        preparing.ips,
        preparing.tree,
    );
    let host_path = match SubPath::inside(mount, &variables)? {
        None => volume.clone(),
        Some(inside) => {
            let name = ContainerName::new(&preparing.container.name);
            let told = format!("subPath of mount {:?} of container {name}", mount.name);
            let target = preparing
                .layout
                .sub_path(preparing.uid, &mount.name, &name, at);
            volume::bind(&SubPath {
                volume,
                inside,
                target: target.clone(),
                told,
            })?;
            target
        }
    };
    let read_only = mount.read_only == Some(true);
    let recursive = matches!(
        mount.recursive_read_only.as_deref(),
        Some("Enabled" | "IfPossible")
    );
    Ok(Some(PreparedMount {
        host_path,
        container_path: absolute(&mount.mount_path),
        read_only: read_only || is_always_read_only(preparing.pod, &mount.name),
        recursive_read_only: read_only && recursive,
        propagation: match mount.mount_propagation.as_deref() {
            Some("HostToContainer") => Propagation::HostToContainer,
            Some("Bidirectional") => Propagation::Bidirectional,
            _ => Propagation::Private,
        },
    }))
}

/// Volumes whose content the agent writes are read-only in containers.
fn is_always_read_only(pod: &Pod, name: &str) -> bool {
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_ref());
    let mut volumes = volumes
        .into_iter()
        .flatten()
        .filter(|volume: &&Volume| volume.name == name);
    volumes.any(|volume| volume.downward_api.is_some() || volume.projected.is_some())
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
        host_path,
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
