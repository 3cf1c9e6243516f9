#![allow(clippy::unwrap_used)]

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

use super::*;

#[test]
fn each_type_has_a_key_and_an_empty_request_of_that_type() {
    let rsa = |bits: usize| move |key: &PublicKey<'_>| matches!(key, PublicKey::RSA(it) if it.key_size() == bits);
    let ec = |bits: usize| move |key: &PublicKey<'_>| matches!(key, PublicKey::EC(it) if it.key_size() == bits);
    let other = |key: &PublicKey<'_>| matches!(key, PublicKey::Unknown(bytes) if bytes.len() == 32);
    type Check = Box<dyn Fn(&PublicKey<'_>) -> bool>;
    let table: [(&str, Check); 6] = [
        ("RSA3072", Box::new(rsa(3072))),
        ("RSA4096", Box::new(rsa(4096))),
        ("ECDSAP256", Box::new(ec(256))),
        ("ECDSAP384", Box::new(ec(384))),
        // The parser counts whole bytes.
        ("ECDSAP521", Box::new(ec(528))),
        ("ED25519", Box::new(other)),
    ];
    for (key_type, is_right) in table {
        let key = generate(key_type).unwrap();
        assert!(
            key.pem.starts_with("-----BEGIN PRIVATE KEY-----\n"),
            "{key_type}"
        );
        let (rest, request) = X509CertificationRequest::from_der(&key.request).unwrap();
        assert!(rest.is_empty());
        let info = &request.certification_request_info;
        assert_eq!(info.subject.iter().count(), 0, "{key_type}: no name");
        let public = info.subject_pki.parsed().unwrap();
        assert!(is_right(&public), "{key_type}: {public:?}");
        let again = rcgen::KeyPair::from_pem(&key.pem).unwrap();
        assert_eq!(
            again.public_key_raw(),
            &*info.subject_pki.subject_public_key.data,
            "{key_type}: the key is the request's"
        );
    }
}

#[test]
fn other_types_are_refused() {
    let error = generate("RSA1024").map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "unknown key type \"RSA1024\"");
}
