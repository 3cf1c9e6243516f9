#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;

use agent_core::FailKind;
use serde_json::json;

use super::testing::{Bed, UID, mounted, pod};
use super::{VolumeError, make_all, remove_tree};
use crate::testing::with_own_mounts;

#[test]
fn volumes_come_and_go() {
    with_own_mounts("volumes_come_and_go", || {
        let bed = Bed::new();
        let outside = bed.outside();
        let pod = pod(json!({"containers": [], "volumes": [
            {"name": "disk", "emptyDir": {}},
            {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            {"name": "host", "hostPath": {"path": outside, "type": "Directory"}},
            {"name": "fields", "downwardAPI": {"items": [
                {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"name": "all", "projected": {"sources": [{"downwardAPI": {"items": [
                {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}},
            {"name": "image", "image": {"reference": "x"}},
        ]}));
        let paths = make_all(bed.making(&pod)).unwrap();
        let folder = bed.pods().join(UID).join("volumes");
        let expected = BTreeMap::from([
            (
                "disk".to_owned(),
                folder.join("kubernetes.io~empty-dir/disk"),
            ),
            (
                "memory".to_owned(),
                folder.join("kubernetes.io~empty-dir/memory"),
            ),
            ("host".to_owned(), outside.clone()),
            (
                "fields".to_owned(),
                folder.join("kubernetes.io~downward-api/fields"),
            ),
            ("all".to_owned(), folder.join("kubernetes.io~projected/all")),
        ]);
        assert_eq!(paths, expected);
        assert_eq!(
            fs::read_to_string(paths["fields"].join("name")).unwrap(),
            "web"
        );
        let labels = fs::read_to_string(paths["all"].join("labels")).unwrap();
        assert_eq!(labels, "app=\"web\"\ntier=\"front\"");
        fs::write(paths["disk"].join("kept"), "data").unwrap();
        fs::write(paths["memory"].join("kept"), "data").unwrap();
        assert_eq!(make_all(bed.making(&pod)).unwrap(), expected);
        assert_eq!(mounted(&folder), 1);
        assert!(paths["disk"].join("kept").exists() && paths["memory"].join("kept").exists());
        remove_tree(&bed.pods(), UID).unwrap();
        assert_eq!(
            (bed.pods().join(UID).exists(), mounted(&bed.pods())),
            (false, 0)
        );
        assert!(outside.join("precious").exists());
        remove_tree(&bed.pods(), UID).unwrap();
    });
}

#[test]
fn a_kind_that_is_not_there_is_named() {
    let bed = Bed::new();
    let pod = pod(
        json!({"containers": [], "volumes": [{"name": "v", "nfs": {"server": "s", "path": "/"}}]}),
    );
    let error = make_all(bed.making(&pod)).unwrap_err();
    assert!(
        matches!(&error, VolumeError::Unknown(name) if name == "v"),
        "{error}"
    );
    assert_eq!(error.fail("FailedMount").kind, FailKind::Permanent);
}
