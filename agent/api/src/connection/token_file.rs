//! A bearer token in a file that somebody renews.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;

use super::error::ConnectionError;

/// A token is used that long before the file is looked at again (Kubernetes 1.37).
const FRESH: Duration = Duration::from_secs(60);

/// `tokenFile` of a kubeconfig. Blanks around the token do not count, which `kube` does not know.
pub(super) struct TokenFile {
    file: PathBuf,
    newest: Mutex<Option<(HeaderValue, Instant)>>,
}

impl fmt::Debug for TokenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenFile")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl TokenFile {
    pub(super) fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            newest: Mutex::new(None),
        }
    }

    /// Value of the `Authorization` header. A file that cannot be read any more leaves the token as it
    /// was.
    pub(super) async fn authorization(&self) -> Result<HeaderValue, ConnectionError> {
        let newest = self.lock().clone();
        match newest {
            Some((value, at)) if at.elapsed() < FRESH => Ok(value),
            newest => {
                let value = match (self.read().await, newest) {
                    (Ok(value), _) => value,
                    (Err(error), Some((value, _))) => {
                        tracing::warn!(
                            error = %base_daemon::Chain(&error),
                            "the token for the API server stays as it is"
                        );
                        value
                    }
                    (Err(error), None) => return Err(error),
                };
                *self.lock() = Some((value.clone(), Instant::now()));
                Ok(value)
            }
        }
    }

    async fn read(&self) -> Result<HeaderValue, ConnectionError> {
        let text = tokio::fs::read_to_string(&self.file).await;
        let text = text.map_err(|source| ConnectionError::Read {
            file: self.file.clone(),
            what: "tokenFile of the kubeconfig",
            source,
        })?;
        let refused = |why| ConnectionError::pair(self.file.display().to_string(), why);
        let token = text.trim();
        if token.is_empty() {
            return Err(refused("there is no token in it"));
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| refused("the token has characters that no token has"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(HeaderValue, Instant)>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
