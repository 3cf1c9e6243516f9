//! A failed action: whether to try again is part of the type.

use std::fmt;

use crate::ids::ImageName;

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailKind {
    /// The same call may work later: time-out, busy, connection lost, back-off.
    Retry,
    /// The same call will fail again until the manifest or the node changes.
    Permanent,
    /// The thing acted on does not exist any more; for a removal that is success.
    Gone,
}

/// Why an action failed, in words for an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fail {
    /// Whether to retry.
    pub kind: FailKind,
    /// CamelCase reason as the stock kubelet shows it, for instance `CreateContainerError`.
    pub reason: &'static str,
    /// What went wrong and what to do, without the reason.
    pub message: String,
    /// The image that could not be had, where it is not the one that the container runs.
    pub image: Option<ImageName>,
}

impl Fail {
    /// A failure that may pass.
    pub fn retry(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: FailKind::Retry,
            reason,
            message: message.into(),
            image: None,
        }
    }

    /// A failure that stays until something is changed.
    pub fn permanent(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: FailKind::Permanent,
            reason,
            message: message.into(),
            image: None,
        }
    }

    /// The object is not there any more.
    pub fn gone(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: FailKind::Gone,
            reason,
            message: message.into(),
            image: None,
        }
    }
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.message)
    }
}

impl std::error::Error for Fail {}
