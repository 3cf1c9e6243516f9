#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::{FIXED, HEADER, HOST_NETWORK_HEADER, write};

fn pod(spec: Value) -> Pod {
    let metadata = json!({"name": "web-n", "namespace": "shop"});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

/// The file of a pod whose host file says `host`.
fn hosts(spec: Value, ips: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (path, host) = (folder.path().join("etc-hosts"), folder.path().join("host"));
    fs::write(&host, "127.0.0.1 me\n").unwrap();
    let ips: Vec<String> = ips.iter().map(ToString::to_string).collect();
    write(&path, &pod(spec), &ips, "cluster.local", &host).unwrap();
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_pod_finds_itself_under_all_its_addresses() {
    let long = "a".repeat(62) + ".b";
    let table = [
        (
            json!({"containers": []}),
            "10.1.0.5\tweb-n\nfd00::5\tweb-n\n".to_owned(),
        ),
        (
            json!({"containers": [], "hostname": "h"}),
            "10.1.0.5\th\nfd00::5\th\n".to_owned(),
        ),
        (
            json!({"containers": [], "hostname": "h", "subdomain": "s"}),
            "10.1.0.5\th.s.shop.svc.cluster.local\th\nfd00::5\th.s.shop.svc.cluster.local\th\n"
                .to_owned(),
        ),
        (
            json!({"containers": [], "hostnameOverride": "own.example", "subdomain": "s"}),
            "10.1.0.5\town.example\nfd00::5\town.example\n".to_owned(),
        ),
        (
            json!({"containers": [], "hostnameOverride": long}),
            format!("10.1.0.5\t{0}\nfd00::5\t{0}\n", "a".repeat(62)),
        ),
    ];
    for (spec, expected) in table {
        assert_eq!(
            hosts(spec, &["10.1.0.5", "fd00::5"]),
            format!("{HEADER}{FIXED}{expected}")
        );
    }
}

#[test]
fn aliases_come_last_and_host_network_begins_with_the_hosts_file() {
    let aliases = json!([{"ip": "1.2.3.4", "hostnames": ["a", "b"]}, {"ip": "::2"}]);
    let added = "\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n::2\t\n";
    let spec = json!({"containers": [], "hostAliases": aliases});
    assert_eq!(
        hosts(spec, &["10.1.0.5"]),
        format!("{HEADER}{FIXED}10.1.0.5\tweb-n\n{added}")
    );
    let spec = json!({"containers": [], "hostAliases": aliases, "hostNetwork": true});
    assert_eq!(
        hosts(spec, &[]),
        format!("{HOST_NETWORK_HEADER}127.0.0.1 me\n{added}")
    );
}

#[test]
fn a_mounted_file_is_written_in_place_and_a_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("etc-hosts");
    let spec = json!({"containers": []});
    let write = |ips: &[String]| write(&path, &pod(spec.clone()), ips, "", &path);
    write(&["10.1.0.5".to_owned(), "10.1.0.6".to_owned()]).unwrap();
    let before = fs::metadata(&path).unwrap();
    write(&["10.1.0.7".to_owned()]).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!((before.ino(), after.mode() & 0o777), (after.ino(), 0o644));
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .ends_with("10.1.0.7\tweb-n\n"),
        "no rest of the old one"
    );
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&victim, &path).unwrap();
    assert!(write(&[]).is_err());
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
}
