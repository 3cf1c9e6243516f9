//! A certificate that the node signs itself: `kubelet.crt` and `kubelet.key` in the certificate folder.
//! It is encryption without proof; the API server accepts it unless it is told an authority.

use std::path::Path;

use rcgen::{ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType};

use super::files::load;
use crate::connection::error::ConnectionError;
use crate::connection::pair::Pair;
use crate::connection::renewal::stamp;
use crate::connection::store::{write_private, write_public};

/// Days that a new one is valid (Kubernetes 1.37).
const DAYS: i64 = 365;

/// The pair in the folder, or a new one if there is none or it cannot be read.
pub(super) fn had(folder: &Path, node: &str) -> Result<Pair, ConnectionError> {
    let (certificate, key) = (folder.join("kubelet.crt"), folder.join("kubelet.key"));
    if certificate.exists() && key.exists() {
        match load(&certificate, &key) {
            Ok(pair) => return Ok(pair),
            Err(error) => tracing::warn!(
                error = %base_daemon::Chain(&error),
                "the self-signed certificate of the node's server is not usable, a new one is made"
            ),
        }
    }
    std::fs::create_dir_all(folder).map_err(|source| ConnectionError::Write {
        file: folder.to_owned(),
        what: "--cert-dir",
        source,
    })?;
    let (text, secret) = made(node).map_err(|error| {
        ConnectionError::pair(
            certificate.display().to_string(),
            format!("a self-signed certificate for {node:?} cannot be made: {error}"),
        )
    })?;
    write_private(&key, secret.as_bytes())?;
    write_public(&certificate, text.as_bytes())?;
    tracing::info!(file = %certificate.display(), "made a self-signed certificate for the node's server");
    load(&certificate, &key)
}

/// Certificate and key in PEM.
fn made(node: &str) -> Result<(String, String), rcgen::Error> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, format!("{node}@{}", stamp()));
    params.subject_alt_names.push(match node.parse() {
        Ok(address) => SanType::IpAddress(address),
        Err(_) => SanType::DnsName(node.try_into()?),
    });
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let today = jiff::Zoned::now()
        .with_time_zone(jiff::tz::TimeZone::UTC)
        .date();
    let day = |date: jiff::civil::Date| {
        let (month, day) = (date.month().unsigned_abs(), date.day().unsigned_abs());
        rcgen::date_time_ymd(date.year().into(), month, day)
    };
    // A day earlier, for clients whose clock is behind.
    params.not_before = day(today.yesterday().unwrap_or(today));
    params.not_after = day(today
        .checked_add(jiff::Span::new().days(DAYS))
        .unwrap_or(today));
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}
