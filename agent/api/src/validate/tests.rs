#![allow(clippy::unwrap_used)]

use std::fs;

use serde_json::json;

use super::validate;
use crate::configuration::Layers;

const HEAD: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  \
                   - {name: a, image: 'x:1'}\n";

#[test]
fn configuration_and_manifests_are_told_together_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("m")).unwrap();
    fs::write(at("config"), format!("{HEAD}staticPodPath: m\nmaxPod: 5\n")).unwrap();
    fs::write(at("m/a.yaml"), format!("{POD}  extra: 1\n")).unwrap();
    fs::write(at("m/b.yaml"), POD).unwrap();
    fs::write(at("m/c.yaml"), "").unwrap();
    let result = validate(
        &Layers {
            file: Some(at("config")),
            ..Layers::default()
        },
        "n",
    );
    assert!(result.configuration.is_some() && !result.is_good());
    let shown = folder.path().display();
    let found: Vec<String> = result.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            format!("warning: {shown}/config: fields that do not exist are ignored: maxPod"),
            format!("warning: {shown}/m/a.yaml: fields that do not exist are ignored: spec.extra"),
            format!("error: {shown}/m/b.yaml: the name default/web-n is taken by {shown}/m/a.yaml"),
            format!("error: {shown}/m/c.yaml: it is empty"),
        ]
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn wrong_settings_are_one_finding_each() {
    let layers = Layers {
        flags: json!({"port": 0.5, "maxPods": -1}),
        ..Layers::default()
    };
    let result = validate(&layers, "n");
    assert!(result.configuration.is_none());
    let found: Vec<String> = result.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "error: port: 0.5 is wrong, it must be a whole number below 2147483648",
            "error: maxPods: -1 is wrong, it must be 0 or more",
        ]
    );
}

#[test]
fn without_problems_there_is_nothing_to_tell() {
    let result = validate(&Layers::default(), "n");
    assert!(result.is_good() && result.findings.is_empty());
}
