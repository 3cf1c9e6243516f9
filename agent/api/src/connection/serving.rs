//! The certificate that the node's own server presents.
//!
//! Signed by the cluster (`serverTLSBootstrap`), or read from files that are followed, or made by the
//! node itself: the first of these that is configured.

mod files;
mod self_signed;
mod signed;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use base_daemon::DrainGuard;
use rustls::server::ResolvesServerCert;
use tokio::sync::watch;

use super::connect::Connection;
use super::error::ConnectionError;
use super::identity::Identity;
use super::names::ServingNames;
use super::store::Store;
use files::Files;
use signed::Signed;

/// Where the certificate of the node's server comes from.
#[derive(Clone, Debug)]
pub struct ServingSettings {
    /// `--cert-dir`.
    pub cert_dir: PathBuf,
    /// Name of the node.
    pub node: String,
    /// `serverTLSBootstrap`.
    pub bootstrap: bool,
    /// `tlsCertFile` and `tlsPrivateKeyFile`.
    pub files: Option<(PathBuf, PathBuf)>,
}

/// The certificate of the node's server.
#[derive(Debug)]
pub struct ServingCertificate {
    identity: Arc<Identity>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Signed(Signed),
    Files(Box<Files>),
    SelfSigned,
}

impl ServingCertificate {
    /// Reads what is there, or makes a self-signed pair (`kubelet.crt`, `kubelet.key`) where nothing is
    /// configured. With `serverTLSBootstrap` there may be no certificate yet: handshakes fail until
    /// the first one is signed, as with the stock kubelet.
    ///
    /// Fails when configured files are not usable, and when the certificate folder cannot be written.
    pub fn open(settings: &ServingSettings) -> Result<Self, ConnectionError> {
        let identity = Identity::empty();
        let source = match &settings.files {
            _ if settings.bootstrap => {
                let store = Store::new(&settings.cert_dir, "kubelet-server");
                Source::Signed(Signed::begin(
                    &settings.node,
                    store,
                    settings.files.as_ref(),
                    Arc::clone(&identity),
                ))
            }
            Some((certificate, key)) => Source::Files(Box::new(Files::begin(
                certificate,
                key,
                Arc::clone(&identity),
            )?)),
            None => {
                identity.replace(self_signed::had(&settings.cert_dir, &settings.node)?);
                Source::SelfSigned
            }
        };
        Ok(Self { identity, source })
    }

    /// For the configuration of the server: gives the newest certificate to each handshake.
    pub fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        Arc::clone(&self.identity) as Arc<dyn ResolvesServerCert>
    }

    /// Until when the present certificate is valid; `None`: there is none yet.
    pub fn expiry(&self) -> watch::Receiver<Option<SystemTime>> {
        self.identity.expiry()
    }

    /// Renews or follows the certificate until the drain begins. `connection` and `names` are needed
    /// for certificates that the cluster signs: without a connection none is asked for, and none is
    /// asked for before the node has an address.
    pub async fn maintain(
        self,
        connection: Option<Connection>,
        names: watch::Receiver<ServingNames>,
        ending: DrainGuard,
    ) {
        let maintained = async {
            match (self.source, connection) {
                (Source::Signed(mut signed), Some(connection)) => {
                    signed.maintain(&connection, names).await;
                }
                (Source::Files(mut files), _) => files.maintain().await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            // Cancelled between its steps at worst: files are replaced whole.
            () = maintained => {}
            () = ending.ending() => {}
        }
    }
}

#[cfg(test)]
mod tests;
