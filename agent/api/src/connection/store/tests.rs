#![allow(clippy::unwrap_used)]

use rcgen::{CertificateParams, KeyPair};

use super::*;

fn pair(year: i32) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

fn end(store: &Store) -> std::time::SystemTime {
    store.current().unwrap().unwrap().leaf.not_after
}

#[test]
fn the_newest_pair_is_the_present_one_and_older_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(&folder.path().join("pki"), "kubelet-client");
    assert!(store.current().unwrap().is_none());
    for (year, stamp) in [(2040, "a"), (2050, "b")] {
        let (certificate, key) = pair(year);
        let written = store.update(&certificate, &key, stamp).unwrap();
        assert_eq!(written.leaf.not_after, end(&store));
    }
    assert!(folder.path().join("pki/kubelet-client-a.pem").exists());
    let target = fs::read_link(store.link()).unwrap();
    assert_eq!(target, folder.path().join("pki/kubelet-client-b.pem"));
}

#[test]
fn an_interrupted_switch_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path(), "kubelet-client");
    let (certificate, key) = pair(2040);
    store.update(&certificate, &key, "a").unwrap();
    fs::rename(store.link(), store.file("updated")).unwrap();
    assert!(store.current().unwrap().is_some());
    assert!(store.link().is_symlink());
}

#[test]
fn a_file_in_the_place_of_the_link_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path(), "kubelet-client");
    fs::write(store.link(), "somebody's").unwrap();
    let (certificate, key) = pair(2040);
    assert!(store.update(&certificate, &key, "a").is_err());
    assert_eq!(fs::read_to_string(store.link()).unwrap(), "somebody's");
}

#[test]
fn a_key_of_another_certificate_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path(), "kubelet-client");
    let (certificate, _) = pair(2040);
    let (_, key) = pair(2040);
    let error = store
        .update(&certificate, &key, "a")
        .unwrap_err()
        .to_string();
    assert!(!error.contains("PRIVATE"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
