//! Keys of pods and the proof that we have them.

use rcgen::{
    CertificateParams, DistinguishedName, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384,
    PKCS_ECDSA_P521_SHA512, PKCS_ED25519, PKCS_RSA_SHA256, RsaKeySize,
};

/// A new key. Never shown by `Debug`.
pub(super) struct NewKey {
    /// The private key, PKCS #8 in PEM.
    pub(super) pem: String,
    /// An empty signing request (PKCS #10 in DER) that its signature proves.
    pub(super) request: Vec<u8>,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    /// The manifest asks for a type that we do not know.
    #[error("unknown key type {0:?}")]
    Type(String),
    /// The library refused.
    #[error("while generating a key of type {0}")]
    Generate(String, #[source] rcgen::Error),
}

/// Makes a key. RSA takes up to seconds of computing: call it where blocking is allowed.
pub(super) fn generate(key_type: &str) -> Result<NewKey, KeyError> {
    let key = match key_type {
        "RSA3072" => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_3072),
        "RSA4096" => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_4096),
        "ECDSAP256" => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
        "ECDSAP384" => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384),
        "ECDSAP521" => KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512),
        "ED25519" => KeyPair::generate_for(&PKCS_ED25519),
        other => return Err(KeyError::Type(other.to_owned())),
    };
    let failed = |error| KeyError::Generate(key_type.to_owned(), error);
    let key = key.map_err(failed)?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let request = params.serialize_request(&key).map_err(failed)?;
    Ok(NewKey {
        pem: key.serialize_pem(),
        request: request.der().to_vec(),
    })
}

#[cfg(test)]
mod tests;
