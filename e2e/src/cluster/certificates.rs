//! Certificates and keys of a cluster, made at its start and gone with its folder.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

/// A certificate authority that signs whatever it is asked for.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, both as PEM.
pub(super) struct Pair {
    /// The certificate alone.
    pub(super) certificate: String,
    /// The key in PKCS #8.
    pub(super) key: String,
}

/// What a certificate is good for.
pub(super) enum Use<'a> {
    /// A client of the API: its user name and its groups.
    Client(&'a str, &'a [&'a str]),
    /// A server under these host names and addresses, of which the first is its common name.
    Server(&'a [&'a str]),
}

impl Authority {
    /// A new authority of this name.
    pub(super) fn new(name: &str) -> Result<Authority> {
        let mut params = CertificateParams::default();
        params.distinguished_name = common_name(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = [
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ]
        .into();
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)
            .with_context(|| format!("making the authority {name}"))?;
        Ok(Authority { issuer })
    }

    /// Its own certificate as PEM.
    pub(super) fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for a new key.
    pub(super) fn issue(&self, purpose: &Use<'_>) -> Result<Pair> {
        let (names, usage) = match purpose {
            Use::Client(..) => (Vec::new(), ExtendedKeyUsagePurpose::ClientAuth),
            Use::Server(names) => (
                names.iter().map(|name| (*name).to_owned()).collect(),
                ExtendedKeyUsagePurpose::ServerAuth,
            ),
        };
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = match purpose {
            Use::Client(user, groups) => {
                let mut name = common_name(user);
                // Kubernetes reads one group from each organization.
                for group in *groups {
                    name.push(DnType::OrganizationName, *group);
                }
                name
            }
            Use::Server(names) => common_name(names.first().context("a server has a name")?),
        };
        params.key_usages = [KeyUsagePurpose::DigitalSignature].into();
        params.extended_key_usages = [usage].into();
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Pair {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Writes its certificate and key as `<name>.crt` and `<name>.key`.
    pub(super) fn write(&self, folder: &Path, name: &str) -> Result<()> {
        let pair = Pair {
            certificate: self.certificate(),
            key: self.issuer.key().serialize_pem(),
        };
        pair.write(folder, name)
    }
}

impl Pair {
    /// Writes `<name>.crt` and `<name>.key`.
    pub(super) fn write(&self, folder: &Path, name: &str) -> Result<()> {
        fs::write(folder.join(format!("{name}.crt")), &self.certificate)?;
        Ok(fs::write(folder.join(format!("{name}.key")), &self.key)?)
    }
}

/// The key that service account tokens are signed with: `sa.key`, and `sa.pub` to check them.
pub(super) fn write_token_key(folder: &Path) -> Result<()> {
    let key = KeyPair::generate()?;
    fs::write(folder.join("sa.pub"), key.public_key_pem())?;
    Ok(fs::write(folder.join("sa.key"), key.serialize_pem())?)
}

fn common_name(name: &str) -> DistinguishedName {
    let mut whole = DistinguishedName::new();
    whole.push(DnType::CommonName, name);
    whole
}
