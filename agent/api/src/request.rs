//! One request to the API server: bounded in time, and its failure in words that show no secret.

use std::error::Error as _;
use std::future::Future;
use std::time::Duration;

use base_daemon::Chain;

/// Longest wait for an answer that is no watch.
pub(crate) const LONGEST: Duration = Duration::from_secs(5);

/// Why a request did not give what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct RequestFailure {
    /// HTTP status, when the API server answered.
    pub(crate) code: Option<u16>,
    /// What it said, or why there was no answer.
    pub(crate) message: String,
}

impl RequestFailure {
    /// A failure that is none of the API server's.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            code: None,
            message: message.into(),
        }
    }

    /// The object is not there.
    pub(crate) fn is_missing(&self) -> bool {
        self.code == Some(404)
    }

    /// Trying again soon can help: no answer, an overloaded server or one with a fault.
    pub(crate) fn is_passing(&self) -> bool {
        self.code.is_none_or(|code| code == 429 || code >= 500)
    }
}

impl From<&kube::Error> for RequestFailure {
    fn from(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self {
                code: Some(status.code),
                message: if status.message.is_empty() {
                    format!("the API server answered {} {}", status.code, status.reason)
                } else {
                    status.message.clone()
                },
            },
            // The texts of the parser quote what they read, and that can be a secret.
            kube::Error::SerdeError(error) => Self::new(format!(
                "the API server's answer is not of the expected form (column {}); its version may not fit",
                error.column()
            )),
            // These repeat their source in their own text.
            other => Self::new(match other.source() {
                Some(source) => Chain(source).to_string(),
                None => other.to_string(),
            }),
        }
    }
}

impl From<&kube::runtime::watcher::Error> for RequestFailure {
    fn from(error: &kube::runtime::watcher::Error) -> Self {
        use kube::runtime::watcher::Error;
        match error {
            Error::InitialListFailed(error)
            | Error::WatchStartFailed(error)
            | Error::WatchFailed(error) => Self::from(error),
            Error::WatchError(status) => Self {
                code: Some(status.code),
                message: status.message.clone(),
            },
            Error::NoResourceVersion => Self::new(error.to_string()),
        }
    }
}

/// Runs a request, at most [`LONGEST`]. Safe to cancel: the answer is then not seen.
pub(crate) async fn within<T>(
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, RequestFailure> {
    match tokio::time::timeout(LONGEST, request).await {
        Ok(result) => result.map_err(|error| RequestFailure::from(&error)),
        Err(_) => Err(RequestFailure::new(format!(
            "the API server did not answer within {} s",
            LONGEST.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests;
