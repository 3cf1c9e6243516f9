//! What a volume of the manifest is in the end: claims stand for what they are bound to.

use agent_core::Fail;
use agent_loops::ports::References;
use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, DownwardAPIVolumeSource, EmptyDirVolumeSource, HostPathVolumeSource,
    ImageVolumeSource, LocalVolumeSource, NFSVolumeSource, PersistentVolume, Pod,
    ProjectedVolumeSource, SecretVolumeSource, Volume,
};

use super::VolumeError;

/// Older name of `mountOptions` of a persistent volume, which comes first.
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";

/// A volume with its claim looked up.
#[derive(Clone, Debug)]
pub(crate) struct Resolved<'a> {
    /// Name of its folder: the volume's own, or that of the persistent volume.
    pub(crate) name: &'a str,
    /// What it is.
    pub(super) kind: Kind<'a>,
    /// Containers never write to it.
    pub(crate) read_only: bool,
    /// `Block` or `Filesystem`, of a persistent volume.
    mode: Option<&'a str>,
}

/// What a volume is.
#[derive(Clone, Debug)]
pub(super) enum Kind<'a> {
    EmptyDir(&'a EmptyDirVolumeSource),
    HostPath(&'a HostPathVolumeSource),
    Secret(&'a SecretVolumeSource),
    ConfigMap(&'a ConfigMapVolumeSource),
    DownwardApi(&'a DownwardAPIVolumeSource),
    Projected(&'a ProjectedVolumeSource),
    Image(&'a ImageVolumeSource),
    Nfs {
        source: &'a NFSVolumeSource,
        options: Vec<String>,
    },
    Local {
        source: &'a LocalVolumeSource,
        options: Vec<String>,
    },
    Csi,
    /// A kind that this version does not have, by its name in the API.
    Other(&'static str),
}

/// How a container gets a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown<'a> {
    /// From the path that was made for the pod.
    Path,
    /// From the runtime, by the reference of the image.
    Image(&'a str),
}

impl<'a> Resolved<'a> {
    /// How a container gets it.
    pub(crate) fn shown(&self) -> Shown<'a> {
        match self.kind {
            Kind::Image(source) => Shown::Image(source.reference.as_deref().unwrap_or_default()),
            _ => Shown::Path,
        }
    }

    /// Whether the containers use it in the way that it can be used.
    pub(super) fn check_mode(&self, volume: &str, as_device: bool) -> Result<(), VolumeError> {
        let wrong = |mode: &str, field| {
            Err(VolumeError::Mode {
                volume: volume.to_owned(),
                mode: mode.to_owned(),
                field,
            })
        };
        match (self.mode, as_device) {
            (Some("Block"), true) => Err(VolumeError::Unknown("raw block (volumeDevices)")),
            (Some("Block"), false) => wrong("Block", "volumeMounts"),
            (mode, true) => wrong(mode.unwrap_or("Filesystem"), "volumeDevices"),
            (_, false) => Ok(()),
        }
    }
}

/// Looks up what a volume is.
pub(crate) fn resolve<'a>(
    pod: &Pod,
    references: &'a References,
    volume: &'a Volume,
) -> Result<Resolved<'a>, VolumeError> {
    let resolved = match claim(pod, volume) {
        None => of_pod(volume),
        Some((claim, read_only)) => match references.claims.get(&claim) {
            Some(Ok(bound)) => of_claim(bound, read_only),
            Some(Err(fail)) => return Err(VolumeError::Claim(fail.clone())),
            None => {
                let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
                let text = format!(
                    "error processing PVC {namespace}/{claim}: failed to fetch PVC from API server: \
                     persistentvolumeclaims {claim:?} not found"
                );
                return Err(VolumeError::Claim(Fail::retry("FailedMount", text)));
            }
        },
    };
    // It names a folder, and comes from somebody else.
    let name = resolved.name;
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(VolumeError::Manifest(format!(
            "{name:?} is no name of a volume"
        )));
    }
    Ok(resolved)
}

/// The claim of a volume and whether it is used read-only. An ephemeral volume has one of its own,
/// named after pod and volume.
fn claim(pod: &Pod, volume: &Volume) -> Option<(String, bool)> {
    if let Some(source) = &volume.persistent_volume_claim {
        return Some((source.claim_name.clone(), source.read_only == Some(true)));
    }
    let pod = pod.metadata.name.as_deref().unwrap_or_default();
    let ephemeral = volume.ephemeral.is_some();
    ephemeral.then(|| (format!("{pod}-{}", volume.name), false))
}

fn of_claim(bound: &PersistentVolume, read_only: bool) -> Resolved<'_> {
    let spec = bound.spec.as_ref();
    let kind = spec.and_then(|spec| {
        if let Some(source) = &spec.local {
            let options = options(bound);
            Some(Kind::Local { source, options })
        } else if let Some(source) = &spec.nfs {
            let options = options(bound);
            Some(Kind::Nfs { source, options })
        } else if let Some(source) = &spec.host_path {
            Some(Kind::HostPath(source))
        } else if spec.csi.is_some() {
            Some(Kind::Csi)
        } else {
            None
        }
    });
    let mode = spec.and_then(|spec| spec.volume_mode.as_deref());
    Resolved {
        name: bound.metadata.name.as_deref().unwrap_or_default(),
        kind: kind.unwrap_or(Kind::Other("persistent in-tree")),
        read_only,
        mode: mode.or(Some("Filesystem")),
    }
}

fn options(bound: &PersistentVolume) -> Vec<String> {
    let annotations = bound.metadata.annotations.as_ref();
    if let Some(written) = annotations.and_then(|each| each.get(MOUNT_OPTIONS)) {
        return written.split(',').map(str::to_owned).collect();
    }
    let spec = bound.spec.as_ref();
    spec.and_then(|spec| spec.mount_options.clone())
        .unwrap_or_default()
}

fn of_pod(volume: &Volume) -> Resolved<'_> {
    let (kind, read_only) = if let Some(source) = &volume.empty_dir {
        (Kind::EmptyDir(source), false)
    } else if let Some(source) = &volume.host_path {
        (Kind::HostPath(source), false)
    } else if let Some(source) = &volume.secret {
        (Kind::Secret(source), true)
    } else if let Some(source) = &volume.config_map {
        (Kind::ConfigMap(source), true)
    } else if let Some(source) = &volume.downward_api {
        (Kind::DownwardApi(source), true)
    } else if let Some(source) = &volume.projected {
        (Kind::Projected(source), true)
    } else if let Some(source) = &volume.image {
        (Kind::Image(source), true)
    } else if let Some(source) = &volume.nfs {
        let options = Vec::new();
        (
            Kind::Nfs { source, options },
            source.read_only == Some(true),
        )
    } else if volume.csi.is_some() {
        (Kind::Csi, false)
    } else {
        (Kind::Other(other(volume)), false)
    };
    Resolved {
        name: &volume.name,
        kind,
        read_only,
        mode: None,
    }
}

fn other(volume: &Volume) -> &'static str {
    let named = [
        (volume.iscsi.is_some(), "iscsi"),
        (volume.fc.is_some(), "fc"),
        (volume.flex_volume.is_some(), "flexVolume"),
        (volume.git_repo.is_some(), "gitRepo"),
    ];
    let found = named.into_iter().find(|(is, _)| *is);
    found.map_or("in-tree cloud and storage system", |(_, name)| name)
}

#[cfg(test)]
mod tests;
