#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use base_daemon::Drain;
use rcgen::{CertificateParams, KeyPair};

use super::*;

fn settings(folder: &std::path::Path) -> ServingSettings {
    ServingSettings {
        cert_dir: folder.join("pki"),
        node: "n1".to_owned(),
        bootstrap: false,
        files: None,
    }
}

fn pair(year: i32) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    let certificate = params.self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

#[test]
fn a_self_signed_pair_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let first = ServingCertificate::open(&settings(folder.path())).unwrap();
    let leaf = first.identity.current().unwrap().leaf.clone();
    assert!(leaf.dns_names.contains("n1"));
    let mode = |name: &str| {
        let file = folder.path().join("pki").join(name);
        fs::metadata(file).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("kubelet.crt"), mode("kubelet.key")), (0o644, 0o600));
    let second = ServingCertificate::open(&settings(folder.path())).unwrap();
    assert_eq!(second.identity.current().unwrap().leaf, leaf);

    fs::write(folder.path().join("pki/kubelet.key"), "rubbish").unwrap();
    let third = ServingCertificate::open(&settings(folder.path())).unwrap();
    assert!(
        third.identity.current().is_some(),
        "an unreadable key is made again"
    );
}

#[tokio::test]
async fn configured_files_are_followed_and_a_bad_change_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("c"), folder.path().join("k"));
    let write = |pair: &(String, String)| {
        fs::write(&certificate, &pair.0).unwrap();
        fs::write(&key, &pair.1).unwrap();
    };
    write(&pair(2040));
    let mut settings = settings(folder.path());
    settings.files = Some((certificate.clone(), key.clone()));
    let serving = ServingCertificate::open(&settings).unwrap();
    let identity = Arc::clone(&serving.identity);
    let mut expiry = serving.expiry();
    let drain = Drain::default();
    let (_names, names) = watch::channel(ServingNames::default());
    base_daemon::spawn("serving", serving.maintain(None, names, drain.guard()));
    let first = identity.current().unwrap().leaf.not_after;
    expiry.mark_unchanged();
    // The certificate without its key comes first and is not taken.
    write(&pair(2050));
    expiry.changed().await.unwrap();
    assert!(identity.current().unwrap().leaf.not_after > first);
}

#[test]
fn configured_files_that_are_missing_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(folder.path());
    settings.files = Some((folder.path().join("c"), folder.path().join("k")));
    let error = ServingCertificate::open(&settings).unwrap_err().to_string();
    assert!(
        error.contains("/c ") && error.contains("tlsCertFile"),
        "{error}"
    );
}
