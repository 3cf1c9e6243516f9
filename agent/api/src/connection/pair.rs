//! A certificate chain with its key, and what its leaf says.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{GeneralName, X509Certificate};

use super::error::ConnectionError;

/// Chain and key that belong together, ready for a handshake.
#[derive(Clone)]
pub(super) struct Pair {
    /// For rustls.
    pub(super) certified: Arc<CertifiedKey>,
    /// What the leaf says.
    pub(super) leaf: Leaf,
}

/// Facts of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// Valid from.
    pub(super) not_before: SystemTime,
    /// Valid until.
    pub(super) not_after: SystemTime,
    /// CN of the subject.
    pub(super) common_name: String,
    /// O of the subject.
    pub(super) organizations: BTreeSet<String>,
    /// DNS names that it is for.
    pub(super) dns_names: BTreeSet<String>,
    /// Addresses that it is for.
    pub(super) addresses: BTreeSet<IpAddr>,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair")
            .field("leaf", &self.leaf)
            .finish_non_exhaustive()
    }
}

impl Pair {
    /// Reads PEM. Both texts may be the same one; each may hold other things beside. `place` says in
    /// errors where they are from.
    pub(super) fn from_pem(
        certificate: &[u8],
        key: &[u8],
        place: &str,
    ) -> Result<Self, ConnectionError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificate)
            .collect::<Result<_, _>>()
            .map_err(|_| ConnectionError::pair(place, "the certificate is no valid PEM"))?;
        let Some(first) = chain.first() else {
            return Err(ConnectionError::pair(
                place,
                "there is no certificate in it",
            ));
        };
        let leaf = Leaf::from_der(first, place)?;
        // What the parser says of a bad key is not shown: it might quote it.
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| ConnectionError::pair(place, "there is no private key in PEM in it"))?;
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let certified = CertifiedKey::from_der(chain, key, &provider)
            .map_err(|error| ConnectionError::pair(place, error.to_string()))?;
        Ok(Self {
            certified: Arc::new(certified),
            leaf,
        })
    }

    /// Whether it is past its end.
    pub(super) fn is_expired(&self, now: SystemTime) -> bool {
        now > self.leaf.not_after
    }
}

impl Leaf {
    fn from_der(der: &[u8], place: &str) -> Result<Self, ConnectionError> {
        let (_, certificate) = x509_parser::parse_x509_certificate(der)
            .map_err(|_| ConnectionError::pair(place, "the certificate is no valid X.509"))?;
        let subject = certificate.subject();
        let mut leaf = Self {
            not_before: time(certificate.validity().not_before.timestamp()),
            not_after: time(certificate.validity().not_after.timestamp()),
            common_name: subject
                .iter_common_name()
                .find_map(|each| each.as_str().ok())
                .unwrap_or_default()
                .to_owned(),
            organizations: subject
                .iter_organization()
                .filter_map(|each| each.as_str().ok())
                .map(str::to_owned)
                .collect(),
            dns_names: BTreeSet::new(),
            addresses: BTreeSet::new(),
        };
        leaf.add_names(&certificate);
        Ok(leaf)
    }

    fn add_names(&mut self, certificate: &X509Certificate<'_>) {
        let Ok(Some(names)) = certificate.subject_alternative_name() else {
            return;
        };
        for name in &names.value.general_names {
            match name {
                GeneralName::DNSName(name) => {
                    self.dns_names.insert((*name).to_owned());
                }
                GeneralName::IPAddress(bytes) => self.addresses.extend(address(bytes)),
                _ => {}
            }
        }
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(four.into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)
}

fn time(seconds: i64) -> SystemTime {
    match u64::try_from(seconds) {
        Ok(seconds) => UNIX_EPOCH + Duration::from_secs(seconds),
        Err(_) => UNIX_EPOCH,
    }
}
