//! Calls to the API server, each with a limit, and what their failures mean.

use std::time::Duration;

use base_daemon::Chain;

/// A call that did not give what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The API server refused, or could not be reached.
    #[error(transparent)]
    Failed(#[from] kube::Error),
    /// No answer in time.
    #[error("the API server did not answer within {0:?}")]
    Late(Duration),
}

impl CallError {
    /// The code of the answer, if there was one.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Failed(kube::Error::Api(status)) => Some(status.code),
            _ => None,
        }
    }

    /// In one line: the server's own words where there are some, since the library's repeat the whole
    /// answer.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Failed(kube::Error::Api(status)) => status.message.clone(),
            other => Chain(other).to_string(),
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.code() == Some(404)
    }

    pub(crate) fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    pub(crate) fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }
}

/// Waits for an answer, at most `limit`. Dropping the call closes its stream.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, CallError> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(CallError::Late(limit)),
    }
}
