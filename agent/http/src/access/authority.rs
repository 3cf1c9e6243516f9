//! Who signs the certificates of clients, read again when the file changes.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agent_loops::ports::Identity;
use base_daemon::Chain;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature,
    verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use super::certificate::identity;

/// The authorities in `clientCAFile`.
///
/// The file is looked at whenever a certificate is to be checked, so that a change counts with the next
/// request, on connections that stand as well. A file that cannot be used changes nothing.
#[derive(Debug)]
pub(crate) struct ClientAuthority {
    path: PathBuf,
    loaded: Mutex<Loaded>,
}

#[derive(Debug, Default)]
struct Loaded {
    /// The file as it was last tried, whether it could be used or not.
    seen: Option<Seen>,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
}

/// What tells one state of a file from another.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthorityError {
    #[error("no authority for client certificates is loaded: see clientCAFile")]
    None,
    #[error("it is not signed by an authority of clientCAFile, or not valid now")]
    Refused(#[source] Error),
    #[error("it has no common name")]
    Nameless,
    #[error("it cannot be read")]
    Read(#[source] io::Error),
    #[error("it has no certificate in PEM that can be used")]
    Empty,
    #[error("its certificates cannot be used")]
    Unusable(#[from] VerifierBuilderError),
}

impl ClientAuthority {
    pub(crate) fn new(path: PathBuf) -> Self {
        let authority = Self {
            path,
            loaded: Mutex::default(),
        };
        // Says at start what is wrong with the file.
        authority.verifier();
        authority
    }

    /// Who the certificates name. `Ok(None)`: there are none.
    pub(crate) fn identify(
        &self,
        certificates: &[CertificateDer<'_>],
    ) -> Result<Option<Identity>, AuthorityError> {
        let Some((leaf, between)) = certificates.split_first() else {
            return Ok(None);
        };
        let verifier = self.verifier().ok_or(AuthorityError::None)?;
        verifier
            .verify_client_cert(leaf, between, UnixTime::now())
            .map_err(AuthorityError::Refused)?;
        identity(leaf).ok_or(AuthorityError::Nameless).map(Some)
    }

    fn verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen(&self.path).ok();
        if loaded.seen != seen || loaded.verifier.is_none() {
            let fresh = loaded.seen != seen;
            loaded.seen = seen;
            match load(&self.path) {
                Ok(verifier) => loaded.verifier = Some(verifier),
                Err(error) if fresh => tracing::error!(
                    path = %self.path.display(),
                    "clientCAFile is not taken over: {}",
                    Chain(&error)
                ),
                Err(_) => {}
            }
        }
        loaded.verifier.clone()
    }
}

fn seen(path: &Path) -> io::Result<Seen> {
    let found = fs::metadata(path)?;
    Ok(Seen {
        file: (found.dev(), found.ino()),
        size: found.size(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

fn load(path: &Path) -> Result<Arc<dyn ClientCertVerifier>, AuthorityError> {
    let text = fs::read(path).map_err(AuthorityError::Read)?;
    let mut roots = RootCertStore::empty();
    // Broken entries cost themselves only.
    let certificates = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok);
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(AuthorityError::Empty);
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    Ok(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?)
}

/// Takes any client certificate in the handshake, if the client has its key. Kubernetes 1.37: whether it
/// is accepted is decided with each request, so that other ways to show who one is stay open.
#[derive(Debug)]
pub(crate) struct AnyClient {
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyClient {
    pub(crate) fn new(provider: &CryptoProvider) -> Self {
        Self {
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _leaf: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
