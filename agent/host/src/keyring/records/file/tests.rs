#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{
    AccountRecord, Credentials, Folder, PullIntent, PulledRecord, SecretRecord, file_name,
};

fn record() -> PulledRecord {
    let secret = SecretRecord {
        uid: "u".to_owned(),
        namespace: "ns".to_owned(),
        name: "n".to_owned(),
        credential_hash: "h".to_owned(),
    };
    let account = AccountRecord {
        uid: "u".to_owned(),
        namespace: "ns".to_owned(),
        name: "robot".to_owned(),
    };
    let of_pods = Credentials {
        kubernetes_secrets: vec![secret],
        kubernetes_service_accounts: vec![account],
        node_pods_accessible: false,
    };
    let of_all = Credentials {
        node_pods_accessible: true,
        ..Default::default()
    };
    PulledRecord {
        last_updated_time: "2026-01-02T03:04:05Z".to_owned(),
        image_ref: "sha256:abc".to_owned(),
        credential_mapping: BTreeMap::from([
            ("busybox".to_owned(), of_all),
            ("example.com/a".to_owned(), of_pods),
        ]),
    }
}

#[test]
fn the_stock_format_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pulled");
    let records = Folder::open(path.clone()).unwrap();
    records.write(&record()).unwrap();
    let file = path.join(file_name("sha256:abc"));
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "{\"kind\":\"ImagePulledRecord\",\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\",\
         \"lastUpdatedTime\":\"2026-01-02T03:04:05Z\",\"imageRef\":\"sha256:abc\",\
         \"credentialMapping\":{\"busybox\":{\"nodePodsAccessible\":true},\"example.com/a\":\
         {\"kubernetesSecrets\":[{\"uid\":\"u\",\"namespace\":\"ns\",\"name\":\"n\",\
         \"credentialHash\":\"h\"}],\"kubernetesServiceAccounts\":[{\"uid\":\"u\",\
         \"namespace\":\"ns\",\"name\":\"robot\"}]}}}\n"
    );
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&file)), (0o700, 0o600));
    let content = records.read::<PulledRecord>().unwrap();
    assert_eq!(
        (content.records, content.unreadable.len()),
        (vec![record()], 0)
    );
    let intents = Folder::open(folder.path().join("pulling")).unwrap();
    let image = "busybox:latest".to_owned();
    intents.write(&PullIntent { image }).unwrap();
    // sha256sum of the name.
    let name = "sha256-3726e854f7e14d58c1dc2b1156c3759b194984a1e8484ee0f3e637bc0212cad8";
    let file = folder.path().join("pulling").join(name);
    let text = "{\"kind\":\"ImagePullIntent\",\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\",\
                \"image\":\"busybox:latest\"}\n";
    assert_eq!(fs::read_to_string(file).unwrap(), text);
}

#[test]
fn what_is_no_record_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let records = Folder::open(folder.path().to_owned()).unwrap();
    let old = "{\"kind\":\"ImagePulledRecord\",\"apiVersion\":\"kubelet.config.k8s.io/v1alpha1\",\
               \"lastUpdatedTime\":null,\"imageRef\":\"a\"}";
    let old = old.replace("null", "\"2026-01-02T03:04:05Z\"");
    for (name, text) in [
        (file_name("a"), old.as_str()),
        (file_name("b"), old.as_str()),
        (file_name("c"), "torn"),
        (format!("{}.tmp", file_name("d")), "half"),
        ("before-1".to_owned(), "sha256:1"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let mut content = records.read::<PulledRecord>().unwrap();
    content.unreadable.sort();
    let mut bad = vec![file_name("b"), file_name("c")];
    bad.sort();
    assert_eq!(content.unreadable, bad);
    assert_eq!(content.records.len(), 1);
}
