//! Files, drop-ins and flags: order of strength, merge rules, errors that name the file.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::configuration::{ConfigurationError, Layers, load};

use super::{load_text, load_with_flags};

const HEAD: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

fn write(path: &Path, body: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{HEAD}{body}")).unwrap();
}

fn error_text(error: &ConfigurationError) -> String {
    let mut text = error.to_string();
    if let Some(source) = std::error::Error::source(error) {
        text.push_str(&format!(": {source}"));
    }
    text
}

#[test]
fn drop_ins_merge_in_lexical_order_with_folders_and_other_endings_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(
        &at("main"),
        "maxPods: 1\nfeatureGates: {A: true, B: true}\nclusterDNS: [10.0.0.1]\nport: 5\n",
    );
    write(
        &at("d/10-a.conf"),
        "maxPods: 2\nfeatureGates: {B: false, C: true}\n",
    );
    write(&at("d/20/x.conf"), "maxPods: 3\nclusterDNS: [10.0.0.2]\n");
    write(&at("d/30.conf"), "port: null\nfeatureGates: {C: null}\n");
    write(&at("d/40.yaml"), "maxPods: 9\n");
    let layers = Layers {
        file: Some(at("main")),
        drop_ins: Some(at("d")),
        flags: Value::Null,
    };
    let c = load(&layers).unwrap().configuration;
    assert_eq!((c.pods.max_pods, c.server.port), (3, 10250));
    let gates: Vec<_> = c.node.feature_gates.into_iter().collect();
    assert_eq!(
        gates,
        [("A".to_owned(), true), ("B".to_owned(), false)],
        "mappings merge, null removes"
    );
    assert_eq!(c.network.cluster_dns, ["10.0.0.2"], "lists replace");
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let load = |file: &str, drop_ins: Option<&str>| {
        let layers = Layers {
            file: Some(at(file)),
            drop_ins: drop_ins.map(at),
            flags: Value::Null,
        };
        error_text(&load(&layers).unwrap_err())
    };
    let shown = folder.path().display();
    write(&at("main"), "");
    assert_eq!(
        load("absent", None),
        format!("{shown}/absent cannot be read: No such file or directory (os error 2)")
    );
    fs::write(at("cut"), "apiVersion: \"kub").unwrap();
    assert_eq!(
        load("cut", None),
        format!("{shown}/cut is not YAML or JSON: line 1, column 13: unclosed quote")
    );
    fs::write(at("empty"), "").unwrap();
    assert_eq!(
        load("empty", None),
        format!("{shown}/empty is not YAML or JSON: it is empty")
    );
    fs::create_dir(at("d")).unwrap();
    fs::write(at("d/x.conf"), "maxPods: 3\n").unwrap();
    assert_eq!(
        load("main", Some("d")),
        format!(
            "{shown}/d/x.conf has apiVersion \"\" and kind \"\", it must have \
             \"kubelet.config.k8s.io/v1beta1\" and \"KubeletConfiguration\""
        )
    );
}

#[test]
fn flags_outrank_files() {
    let flags = json!({
        "maxPods": 7, "clusterDNS": ["10.0.0.2"], "kubeReserved": {"cpu": "200m"},
        "featureGates": {"B": false}, "authentication": {"x509": {"clientCAFile": "/ca"}}
    });
    let file = "maxPods: 3\nkubeReserved: {pid: '5'}\nfeatureGates: {A: true, B: true}\n\
                authentication: {anonymous: {enabled: true}}\nclusterDNS: [10.0.0.1]\n";
    let c = load_with_flags(file, flags).unwrap().configuration;
    assert_eq!(
        (c.pods.max_pods, c.network.cluster_dns),
        (7, vec!["10.0.0.2".to_owned()])
    );
    assert_eq!(
        c.resources.kube_reserved.len(),
        1,
        "the pairs of a flag replace those of a file"
    );
    assert_eq!(c.node.feature_gates.len(), 2, "feature gates merge");
    assert!(c.server.authentication.anonymous.enabled);
    assert_eq!(c.server.authentication.x509.client_ca_file, "/ca");
}

#[test]
fn relative_paths_are_relative_to_the_main_file() {
    let c = load_text("staticPodPath: manifests\nresolvConf: /etc/r\ntlsCertFile: ''\n").unwrap();
    let path = c.configuration.pods.static_pod_path;
    assert!(
        path.starts_with('/') && path.ends_with("/manifests"),
        "{path}"
    );
    assert_eq!(c.configuration.network.resolv_conf, "/etc/r");
    assert_eq!(c.configuration.server.tls_cert_file, "");
}

#[test]
fn without_files_and_flags_there_are_the_defaults() {
    assert!(load(&Layers::default()).unwrap().warnings.is_empty());
}
