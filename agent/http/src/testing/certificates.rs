//! An authority that signs both sides.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ResolvesServerCert;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
pub(crate) struct Shown {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    pub(crate) fn client(&self, name: &str, group: Option<&str>) -> Shown {
        self.sign(name, group, ExtendedKeyUsagePurpose::ClientAuth, |_| {})
    }

    pub(crate) fn expired_client(&self, name: &str) -> Shown {
        self.sign(name, None, ExtendedKeyUsagePurpose::ClientAuth, |params| {
            params.not_before = rcgen::date_time_ymd(2001, 1, 1);
            params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        })
    }

    pub(crate) fn server_only(&self, name: &str) -> Shown {
        self.sign(name, None, ExtendedKeyUsagePurpose::ServerAuth, |_| {})
    }

    pub(crate) fn serving(&self) -> Arc<dyn ResolvesServerCert> {
        let shown = self.server_only("node");
        let key = any_supported_type(&shown.key).unwrap();
        let certified = CertifiedKey::new(vec![shown.certificate], key);
        Arc::new(SingleCertAndKey::from(certified))
    }

    fn sign(
        &self,
        name: &str,
        group: Option<&str>,
        usage: ExtendedKeyUsagePurpose,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Shown {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        if !name.is_empty() {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        if let Some(group) = group {
            params
                .distinguished_name
                .push(DnType::OrganizationName, group);
        }
        params.extended_key_usages = vec![usage];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Shown {
            certificate: certificate.der().clone(),
            key: PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der())),
        }
    }
}
