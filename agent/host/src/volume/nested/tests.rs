#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::json;

use super::super::testing::pod;
use super::folders;

#[test]
fn only_mounts_right_below_the_volume_need_a_folder() {
    let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path});
    let pod = pod(json!({
        "initContainers": [{"name": "i", "volumeMounts": [mount("v", "/init"), mount("x", "/init/own")]}],
        "containers": [
            {"name": "a", "volumeMounts": [
                mount("v", "/dir"), mount("x", "/dir/nested/"), mount("y", "/dir/nested/double"),
                mount("z", "/dir//nested-vol/deep"), mount("w", "/directory"), mount("u", "/other"),
            ]},
            {"name": "b", "volumeMounts": [mount("v", "/dir/../w/./v"), mount("x", "w/v/inner")]},
            {"name": "c"},
        ],
    }));
    let found: Vec<String> = folders(&pod, "v")
        .iter()
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    assert_eq!(found, ["inner", "nested", "nested-vol/deep", "own"]);
    assert!(
        folders(&pod, "x")
            .iter()
            .any(|path| path.ends_with("double"))
    );
    assert!(folders(&pod, "none").is_empty());
}
