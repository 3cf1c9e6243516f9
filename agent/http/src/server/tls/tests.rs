use super::*;

fn names(suites: &[&str]) -> Vec<CipherSuite> {
    let settings = TlsSettings {
        cipher_suites: suites.iter().map(|name| (*name).to_owned()).collect(),
        ..TlsSettings::default()
    };
    let provider = provider(&settings).unwrap();
    let old = provider.cipher_suites.iter();
    let old = old.filter(|suite| matches!(suite, SupportedCipherSuite::Tls12(_)));
    old.map(|suite| suite.suite()).collect()
}

#[test]
fn suites_choose_within_tls_1_2() {
    assert_eq!(names(&[]).len(), 6);
    assert_eq!(
        names(&[
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "TLS_RSA_WITH_AES_128_CBC_SHA"
        ]),
        [CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]
    );
    assert_eq!(names(&["TLS_AES_128_GCM_SHA256"]), []);
    assert_eq!(names(&["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"]).len(), 1);
}

#[test]
fn curves_choose_and_order() {
    let with = |curves: &[i32]| {
        let settings = TlsSettings {
            curves: curves.to_vec(),
            ..TlsSettings::default()
        };
        let groups = provider(&settings).map(|provider| provider.kx_groups);
        groups.map(|groups| {
            groups
                .iter()
                .map(|group| u16::from(group.name()))
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(with(&[24, 29]).unwrap(), [24, 29]);
    assert!(matches!(with(&[1]), Err(TlsError::Curves(_))));
}
