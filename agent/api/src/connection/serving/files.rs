//! `tlsCertFile` and `tlsPrivateKeyFile`, read again when they change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::connection::error::{ConnectionError, read};
use crate::connection::folder_events::FolderEvents;
use crate::connection::identity::Identity;
use crate::connection::pair::Pair;

/// Two files and what was read from them.
#[derive(Debug)]
pub(super) struct Files {
    certificate: PathBuf,
    key: PathBuf,
    identity: Arc<Identity>,
    events: Option<FolderEvents>,
}

impl Files {
    /// Reads and presents them.
    pub(super) fn begin(
        certificate: &Path,
        key: &Path,
        identity: Arc<Identity>,
    ) -> Result<Self, ConnectionError> {
        let this = Self {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            identity,
            events: None,
        };
        this.identity.replace(this.load()?);
        Ok(this)
    }

    /// Presents them again whenever they changed. What is not usable, for instance because only one
    /// of the two was replaced so far, leaves the certificate as it was. Never returns.
    pub(super) async fn maintain(&mut self) {
        loop {
            let files = [self.certificate.as_path(), self.key.as_path()];
            let events = self.events.get_or_insert_with(|| FolderEvents::of(files));
            // The events began before this look: nothing falls between.
            let loaded = load(&self.certificate, &self.key);
            let now = self.identity.current();
            match loaded {
                Ok(pair) if now.is_some_and(|now| now.leaf == pair.leaf) => {}
                Ok(pair) => {
                    tracing::info!(
                        file = %self.certificate.display(),
                        "the server's certificate was replaced"
                    );
                    self.identity.replace(pair);
                }
                Err(error) => tracing::warn!(
                    error = %base_daemon::Chain(&error),
                    "the server's certificate stays, because the new one is not usable"
                ),
            }
            events.changed().await;
        }
    }

    fn load(&self) -> Result<Pair, ConnectionError> {
        load(&self.certificate, &self.key)
    }
}

/// Reads a pair from two files.
pub(super) fn load(certificate: &Path, key: &Path) -> Result<Pair, ConnectionError> {
    Pair::from_pem(
        &read(certificate, "tlsCertFile")?,
        &read(key, "tlsPrivateKeyFile")?,
        &format!("{} with {}", certificate.display(), key.display()),
    )
}
