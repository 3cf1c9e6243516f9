#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::MetadataExt;

use agent_core::FailKind;
use serde_json::{Value, json};

use super::super::testing::{Bed, MEMORY, mode, pod};
use crate::testing::with_own_mounts;

fn field(path: &str, field: &str) -> Value {
    json!({"path": path, "fieldRef": {"fieldPath": field}})
}

fn resource(path: &str, resource: &str, divisor: &str) -> Value {
    let reference = json!({"containerName": "c", "resource": resource, "divisor": divisor});
    json!({"path": path, "resourceFieldRef": reference})
}

#[test]
fn files_say_what_the_pod_is() {
    with_own_mounts("files_say_what_the_pod_is", say_what_the_pod_is);
}

fn say_what_the_pod_is() {
    let bed = Bed::new();
    let items = [
        (field("name", "metadata.name"), "web"),
        (field("namespace", "metadata.namespace"), "shop"),
        (field("uid", "metadata.uid"), "0123-4567"),
        (
            field("labels", "metadata.labels"),
            "app=\"web\"\ntier=\"front\"",
        ),
        (field("tier", "metadata.labels['tier']"), "front"),
        (field("no", "metadata.annotations['no']"), ""),
        (field("none", "metadata.annotations"), ""),
        (resource("cpu", "limits.cpu", "1"), "2"),
        (resource("milli", "limits.cpu", "1m"), "1500"),
        (resource("mebi", "requests.memory", "1Mi"), "64"),
        // A request that is not written is the limit.
        (resource("asked", "requests.cpu", "1m"), "1500"),
        // Without a limit it is what the node has for pods.
        (resource("most", "limits.memory", "0"), &MEMORY.to_string()),
    ];
    let wanted: Vec<&Value> = items.iter().map(|(item, _)| item).collect();
    let resources = json!({"requests": {"memory": "64Mi"}, "limits": {"cpu": "1500m"}});
    let pod = pod(json!({
        "containers": [{"name": "c", "resources": resources}],
        "volumes": [{"name": "v", "downwardAPI": {"items": wanted}}],
    }));
    let path = &bed.make(&pod).unwrap()["v"];
    for (item, expected) in &items {
        let file = item["path"].as_str().unwrap();
        assert_eq!(
            &fs::read_to_string(path.join(file)).unwrap(),
            expected,
            "{file}"
        );
    }
}

#[test]
fn files_have_their_mode_and_group() {
    with_own_mounts("files_have_their_mode_and_group", || {
        for group in [None, Some(4321)] {
            let bed = Bed::new();
            let mut own = field("deep/own", "metadata.name");
            own["mode"] = json!(0o400);
            let source =
                json!({"defaultMode": 0o604, "items": [field("plain", "metadata.uid"), own]});
            let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path});
            let pod = pod(json!({
                "securityContext": {"fsGroup": group},
                "containers": [{"name": "c", "volumeMounts": [mount("v", "/v"), mount("w", "/v/w")]}],
                "volumes": [{"name": "v", "projected": {
                    "defaultMode": 0o604, "sources": [{"downwardAPI": source}]}}, {"name": "w", "emptyDir": {}}],
            }));
            // The second time everything is there.
            for _ in 0..2 {
                let path = &bed.make(&pod).unwrap()["v"];
                let modes = ["", "deep/", "plain", "deep/own", "w"].map(|name| {
                    let real = fs::canonicalize(path.join(name)).unwrap();
                    (mode(&real), fs::metadata(real).unwrap().gid())
                });
                let expected = match group {
                    None => [0o1777, 0o755, 0o604, 0o400, 0o755].map(|mode| (mode, 0)),
                    Some(gid) => [0o3777, 0o2755, 0o644, 0o440, 0o2755].map(|mode| (mode, gid)),
                };
                assert_eq!(modes, expected);
            }
        }
    });
}

#[test]
fn what_cannot_be_is_for_good() {
    let bed = Bed::new();
    let mut wide = field("wide", "metadata.name");
    wide["mode"] = json!(0o1777);
    let bad = [
        field("x", "spec.nodeName"),
        field("../x", "metadata.name"),
        field("..x", "metadata.name"),
        field("/x", "metadata.name"),
        field("", "metadata.name"),
        resource("x", "limits.gpu", "1"),
        json!({"path": "x"}),
        wide,
    ];
    for item in bad {
        let pod = pod(json!({
            "containers": [{"name": "c"}],
            "volumes": [{"name": "v", "downwardAPI": {"items": [item]}}],
        }));
        let error = bed.make(&pod).unwrap_err();
        assert_eq!(error.fail("X").kind, FailKind::Permanent, "{item}: {error}");
        assert!(!bed.volume("downward-api", "v").exists());
    }
}
