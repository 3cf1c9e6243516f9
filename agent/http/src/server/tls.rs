//! The TLS configuration of the server.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::ResolvesServerCert;
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, ServerConfig, SupportedCipherSuite};

use super::settings::TlsSettings;
use crate::access::AnyClient;

/// Go's names of the TLS 1.2 suites that are served here. The older ones, with CBC or without forward
/// secrecy, are not.
const SUITES: [(&str, CipherSuite); 8] = [
    (
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
    (
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    ),
    (
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ),
    (
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
    (
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
];

/// Settings that leave nothing to serve with.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// `tlsCurvePreferences`.
    #[error(
        "none of tlsCurvePreferences {0:?} is known here: name 29 (X25519), 23 (P-256) or 24 (P-384)"
    )]
    Curves(Vec<i32>),
    /// The library says no.
    #[error("the TLS settings do not fit together")]
    Settings(#[from] rustls::Error),
}

/// `clients`: certificates of clients are asked for. They are looked at with each request, so that a
/// client with a bad one gets an answer, and a new authority counts at once.
pub(super) fn config(
    settings: &TlsSettings,
    certificate: &Arc<dyn ResolvesServerCert>,
    clients: bool,
) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(provider(settings)?);
    let versions: &[_] = match settings.min_version.as_str() {
        "VersionTLS13" => &[&TLS13],
        _ => &[&TLS13, &TLS12],
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)?;
    let builder = if clients {
        builder.with_client_cert_verifier(Arc::new(AnyClient::new(&provider)))
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_cert_resolver(Arc::clone(certificate));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // A resumed session would skip the certificate of a client whose authority is gone by now.
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn provider(settings: &TlsSettings) -> Result<CryptoProvider, TlsError> {
    let mut provider = aws_lc_rs::default_provider();
    if !settings.cipher_suites.is_empty() {
        let names = &settings.cipher_suites;
        for name in names.iter().filter(|name| !is_known(name)) {
            tracing::warn!("tlsCipherSuites: {name} is not served here and is left out");
        }
        provider.cipher_suites.retain(|suite| chosen(suite, names));
    }
    if !settings.curves.is_empty() {
        let order = |name: u16| {
            settings
                .curves
                .iter()
                .position(|curve| *curve == i32::from(name))
        };
        provider
            .kx_groups
            .retain(|group| order(u16::from(group.name())).is_some());
        provider
            .kx_groups
            .sort_by_key(|group| order(u16::from(group.name())));
        if provider.kx_groups.is_empty() {
            return Err(TlsError::Curves(settings.curves.clone()));
        }
    }
    Ok(provider)
}

/// Go does not let anybody choose among the suites of TLS 1.3: their names are taken and mean nothing.
fn is_known(name: &str) -> bool {
    SUITES.iter().any(|(known, _)| *known == name) || !name.contains("_WITH_")
}

fn chosen(suite: &SupportedCipherSuite, names: &[String]) -> bool {
    let named = |(name, id): &(&str, CipherSuite)| {
        *id == suite.suite() && names.iter().any(|each| each == name)
    };
    matches!(suite, SupportedCipherSuite::Tls13(_)) || SUITES.iter().any(named)
}

#[cfg(test)]
mod tests;
