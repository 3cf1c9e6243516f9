//! Why a volume cannot be made or taken away, in the words of the stock kubelet where it has some.

use std::fmt;
use std::io;
use std::path::PathBuf;

use agent_core::{Fail, FailKind};
use base_daemon::Chain;

/// Why a volume cannot be made or taken away.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VolumeError {
    /// A kind of volume that this version does not have.
    #[error(
        "{0} volumes are not in this version; use emptyDir, hostPath, secret, configMap, downwardAPI, \
         projected, image, nfs or a local persistent volume"
    )]
    Unknown(&'static str),
    /// The manifest asks for what cannot be.
    #[error("{0}")]
    Manifest(String),
    /// The host or an object is not as it has to be.
    #[error("{0}")]
    Wrong(String),
    /// An object cannot be had.
    #[error("{}", .0.message)]
    Object(Fail),
    /// The volume behind a claim cannot be told.
    #[error("{}", .0.message)]
    Claim(Fail),
    /// A claim is used in another way than its volume allows.
    #[error("volume {volume} has volumeMode {mode}, but is specified in {field}")]
    Mode {
        /// Name in the pod.
        volume: String,
        /// `Filesystem` or `Block`.
        mode: String,
        /// `volumeMounts` or `volumeDevices`.
        field: &'static str,
    },
    /// A local volume's path does not exist.
    #[error("path {0:?} does not exist")]
    NoPath(PathBuf),
    /// Several sources of one volume.
    #[error("[{}]", list(.0))]
    Several(Vec<VolumeError>),
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

fn list(errors: &[VolumeError]) -> String {
    let texts: Vec<String> = errors
        .iter()
        .map(|error| Chain(error).to_string())
        .collect();
    texts.join(", ")
}

impl VolumeError {
    /// The failure of an action.
    pub(crate) fn fail(&self, reason: &'static str) -> Fail {
        Fail {
            kind: self.kind(),
            reason,
            message: Chain(self).to_string(),
            image: None,
        }
    }

    /// What only another manifest can put right is permanent. What is gone may come: for an action
    /// that makes something, that is no success.
    fn kind(&self) -> FailKind {
        match self {
            Self::Unknown(_) | Self::Manifest(_) | Self::Mode { .. } => FailKind::Permanent,
            Self::Wrong(_) | Self::NoPath(_) | Self::Io { .. } => FailKind::Retry,
            Self::Object(fail) | Self::Claim(fail) => match fail.kind {
                FailKind::Permanent => FailKind::Permanent,
                FailKind::Retry | FailKind::Gone => FailKind::Retry,
            },
            Self::Several(errors) => all_or_retry(errors.iter().map(Self::kind)),
        }
    }

    /// Which step of the stock kubelet fails in this way; `None`: before it looks at volumes one by one.
    fn step(&self) -> Option<&'static str> {
        match self {
            Self::Claim(_) | Self::Mode { .. } => None,
            Self::NoPath(_) => Some("MountVolume.NewMounter initialization failed"),
            _ => Some("MountVolume.SetUp failed"),
        }
    }
}

/// Trying again brings the others up to date even if one is wrong for good.
fn all_or_retry(mut kinds: impl Iterator<Item = FailKind>) -> FailKind {
    if kinds.all(|kind| kind == FailKind::Permanent) {
        FailKind::Permanent
    } else {
        FailKind::Retry
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

/// One volume that could not be made.
#[derive(Debug)]
pub(super) struct Failure {
    /// Name in the pod.
    volume: String,
    /// Name that the stock kubelet tells: of the persistent volume behind a claim.
    name: String,
    pub(super) error: VolumeError,
}

impl Failure {
    pub(super) fn new(volume: &str, name: &str, error: VolumeError) -> Self {
        Self {
            volume: volume.to_owned(),
            name: name.to_owned(),
            error,
        }
    }

    pub(super) fn fail(&self, reason: &'static str) -> Fail {
        Fail {
            message: self.to_string(),
            ..self.error.fail(reason)
        }
    }
}

/// As in the stock kubelet, with its blank before the colon.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = self.error.step() {
            write!(f, "{step} for volume {:?} : ", self.name)?;
        }
        Chain(&self.error).fmt(f)
    }
}

/// Volumes of a pod that could not be made, at least one.
#[derive(Debug)]
pub(crate) struct Unmounted(pub(super) Vec<Failure>);

impl Unmounted {
    /// The failure of preparing the pod. One volume speaks for itself. Of several, and of claims, the
    /// pod tells what is missing (Kubernetes 1.37: `FailedMount` of the pod).
    pub(crate) fn fail(&self, reason: &'static str) -> Fail {
        let Self(failures) = self;
        let kind = all_or_retry(failures.iter().map(|failure| failure.error.kind()));
        let texts: Vec<String> = failures.iter().map(Failure::to_string).collect();
        let causes = texts.join("; ");
        let message = match failures.as_slice() {
            [one] if one.error.step().is_some() => causes,
            _ => format!(
                "Unable to attach or mount volumes: unmounted volumes=[{}], unattached volumes=[], \
                 failed to process volumes=[{}]: {causes}",
                names(failures, |_| true),
                names(failures, |failure| failure.error.step().is_none()),
            ),
        };
        Fail {
            kind,
            reason,
            message,
            image: None,
        }
    }
}

fn names(failures: &[Failure], with: impl Fn(&Failure) -> bool) -> String {
    let mut names: Vec<&str> = failures
        .iter()
        .filter(|failure| with(failure))
        .map(|failure| failure.volume.as_str())
        .collect();
    names.sort_unstable();
    names.join(" ")
}

#[cfg(test)]
mod tests;
