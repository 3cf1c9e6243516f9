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
mod downward;
mod empty_dir;
mod fields;
mod host_path;
mod nested;
mod ownership;
mod sub_path;
#[cfg(test)]
mod testing;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use agent_core::{Fail, FailKind, PodUid};
use agent_loops::ports::References;
use base_daemon::Chain;
use k8s_openapi::api::core::v1::{Pod, Volume};

use crate::cgroup::Tree;
use crate::layout::Layout;

pub(crate) use clean::remove_tree;
pub(crate) use fields::environment;
pub(crate) use sub_path::{SubPath, bind};

/// The pod whose volumes are made, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) tree: &'a Tree,
    pub(crate) uid: &'a PodUid,
    pub(crate) pod: &'a Pod,
    #[expect(dead_code, reason = "the volumes that show objects read it")]
    pub(crate) references: &'a References,
}

/// Why a volume cannot be made or taken away.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VolumeError {
    /// A kind of volume that this version does not have.
    #[error(
        "volume {0}: its kind is not in this version, there are emptyDir, hostPath, downwardAPI, \
         projected and image"
    )]
    Unknown(String),
    /// The manifest asks for what cannot be.
    #[error("{0}")]
    Manifest(String),
    /// The host is not as it has to be.
    #[error("{0}")]
    Wrong(String),
    /// One step on one path.
    #[error("cannot {verb} {}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

impl VolumeError {
    /// The failure of an action. What only another manifest can put right is permanent.
    pub(crate) fn fail(&self, reason: &'static str) -> Fail {
        let kind = match self {
            Self::Unknown(_) | Self::Manifest(_) => FailKind::Permanent,
            Self::Wrong(_) | Self::Io { .. } => FailKind::Retry,
        };
        Fail {
            kind,
            reason,
            message: Chain(self).to_string(),
        }
    }
}

/// Failure of one step on one path.
pub(crate) fn failed<E: Into<io::Error>>(
    verb: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(E) -> VolumeError {
    let path = path.into();
    move |error| VolumeError::Io {
        verb,
        path,
        source: error.into(),
    }
}

/// Makes all volumes of a pod. Host path by volume name; image volumes, which the runtime provides,
/// are missing.
pub(crate) fn make_all(making: Making<'_>) -> Result<BTreeMap<String, PathBuf>, VolumeError> {
    let mut paths = BTreeMap::new();
    let volumes = making
        .pod
        .spec
        .as_ref()
        .and_then(|spec| spec.volumes.as_ref());
    for volume in volumes.into_iter().flatten() {
        if let Some(path) = make(making, volume)? {
            paths.insert(volume.name.clone(), path);
        }
    }
    Ok(paths)
}

fn make(making: Making<'_>, volume: &Volume) -> Result<Option<PathBuf>, VolumeError> {
    let name = &volume.name;
    let path = if let Some(source) = &volume.empty_dir {
        empty_dir::make(making, name, source)?
    } else if let Some(source) = &volume.host_path {
        host_path::check(source)?
    } else if let Some(source) = &volume.downward_api {
        downward::make(making, name, source)?
    } else if let Some(source) = &volume.projected {
        downward::make_projected(making, name, source)?
    } else if volume.image.is_some() {
        return Ok(None);
    } else {
        return Err(VolumeError::Unknown(name.clone()));
    };
    Ok(Some(path))
}

#[cfg(test)]
mod tests;
