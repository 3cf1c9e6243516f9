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
        let paths = bed.make(&pod).unwrap();
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
        assert_eq!(bed.make(&pod).unwrap(), expected);
        assert_eq!(mounted(&folder), 3);
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
    for (source, kind) in [
        (json!({"csi": {"driver": "d"}}), "CSI"),
        (json!({"gitRepo": {"repository": "r"}}), "gitRepo"),
        (
            json!({"awsElasticBlockStore": {"volumeID": "i"}}),
            "in-tree cloud and storage system",
        ),
    ] {
        let mut volume = source;
        volume["name"] = json!("v");
        let pod = pod(json!({"volumes": [volume]}));
        let error = bed.make(&pod).unwrap_err();
        assert!(
            matches!(&error, VolumeError::Unknown(name) if *name == kind),
            "{error}"
        );
        let fail = make_all(bed.making(&pod)).unwrap_err().fail("FailedMount");
        assert_eq!(fail.kind, FailKind::Permanent);
        let text = format!("MountVolume.SetUp failed for volume \"v\" : {kind} volumes are not");
        assert!(fail.message.starts_with(&text), "{fail}");
    }
}
