#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};

use agent_core::Fail;
use rustix::mount::{UnmountFlags, unmount};
use serde_json::json;

use super::super::testing::{Bed, mounted, pod};
use super::super::{Made, SubPath, bind, make_all};
use crate::testing::with_own_mounts;

/// A machine that has started anew has the folders, and nothing of what was in memory.
#[test]
fn memory_is_filled_again_after_a_reboot() {
    with_own_mounts("memory_is_filled_again_after_a_reboot", || {
        let mut bed = Bed::new();
        bed.secret("s", &[("key", "1")]);
        let pod = pod(json!({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}));
        let path = bed.make(&pod).unwrap()["v"].clone();
        unmount(&path, UnmountFlags::empty()).unwrap();
        assert!(!path.join("key").exists());
        bed.make(&pod).unwrap();
        assert_eq!(fs::read_to_string(path.join("key")).unwrap(), "1");
        // Without its object there is no last content to show.
        unmount(&path, UnmountFlags::empty()).unwrap();
        bed.references.secrets.clear();
        // Nor is what somebody has left on the disk below.
        fs::create_dir(path.join("..data")).unwrap();
        let error = bed.make(&pod).unwrap_err();
        assert_eq!(error.to_string(), "secret \"s\" not found");
    });
}

#[test]
fn one_that_cannot_be_renewed_stops_nothing() {
    with_own_mounts("one_that_cannot_be_renewed_stops_nothing", || {
        let mut bed = Bed::new();
        for name in ["a", "b"] {
            bed.secret(name, &[("key", "old")]);
        }
        let volume = |name: &str| json!({"name": name, "secret": {"secretName": name}});
        let pod = pod(json!({"volumes": [volume("a"), volume("b")]}));
        let Made { paths, stale } = make_all(bed.making(&pod)).unwrap();
        assert!(stale.is_empty());
        bed.references.secrets.remove("a");
        bed.secret("b", &[("key", "new")]);
        let made = make_all(bed.making(&pod)).unwrap();
        assert_eq!(made.paths, paths);
        let text = "MountVolume.SetUp failed for volume \"a\" : secret \"a\" not found";
        assert_eq!(made.stale, [Fail::retry("FailedMount", text)]);
        let read = |name: &str| fs::read_to_string(paths[name].join("key")).unwrap();
        assert_eq!((read("a"), read("b")), ("old".into(), "new".into()));
        assert_eq!(mounted(&bed.pods()), 2);
    });
}

#[test]
fn labels_that_change_are_shown() {
    with_own_mounts("labels_that_change_are_shown", || {
        let bed = Bed::new();
        let items = json!([{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]);
        let mut pod = pod(json!({"volumes": [{"name": "v", "downwardAPI": {"items": items}}]}));
        let path = bed.make(&pod).unwrap()["v"].clone();
        let read = || fs::read_to_string(path.join("labels")).unwrap();
        assert_eq!(read(), "app=\"web\"\ntier=\"front\"");
        let labels = pod.metadata.labels.as_mut().unwrap();
        labels.remove("tier");
        labels.insert("new".to_owned(), "1".to_owned());
        bed.make(&pod).unwrap();
        assert_eq!(read(), "app=\"web\"\nnew=\"1\"");
    });
}

/// Kubernetes API: a running container keeps the part that it was started with.
#[test]
fn a_part_is_exchanged_with_the_next_container() {
    with_own_mounts("a_part_is_exchanged_with_the_next_container", || {
        let mut bed = Bed::new();
        let source = json!({"sources": [{"secret": {"name": "s"}}]});
        let pod = pod(json!({"volumes": [{"name": "v", "projected": source}]}));
        let target = bed.root.join("part");
        let bind_part = |volume: &Path| {
            let part = SubPath {
                volume,
                inside: PathBuf::from("key"),
                target: target.clone(),
                told: "part".to_owned(),
            };
            bind(&part).unwrap();
            fs::read_to_string(&target).unwrap()
        };
        bed.secret("s", &[("key", "old")]);
        let path = bed.make(&pod).unwrap()["v"].clone();
        assert_eq!(bind_part(&path), "old");
        bed.secret("s", &[("key", "new")]);
        bed.make(&pod).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        assert_eq!(bind_part(&path), "new");
        assert_eq!(mounted(&target), 1);
        unmount(&target, UnmountFlags::empty()).unwrap();
    });
}

/// Without an end of what is half written, each try would take more memory.
#[test]
fn a_try_that_fails_leaves_nothing_in_memory() {
    with_own_mounts("a_try_that_fails_leaves_nothing_in_memory", || {
        let mut bed = Bed::new();
        // As much memory as the pod may have.
        let small = json!([{"name": "c", "resources": {"limits": {"memory": "64Ki"}}}]);
        let volumes = json!([{"name": "v", "secret": {"secretName": "s"}}]);
        let pod = pod(json!({"containers": small, "volumes": volumes}));
        bed.secret("s", &[("key", "1")]);
        let path = bed.make(&pod).unwrap()["v"].clone();
        let large = "x".repeat(128 << 10);
        for _ in 0..3 {
            bed.secret("s", &[("key", &large)]);
            assert_eq!(make_all(bed.making(&pod)).unwrap().stale.len(), 1);
            let names = fs::read_dir(&path).unwrap().count();
            assert_eq!(names, 3, "the key, the link and the last content");
        }
        assert_eq!(fs::read_to_string(path.join("key")).unwrap(), "1");
        bed.secret("s", &[("key", "2")]);
        bed.make(&pod).unwrap();
        assert_eq!(fs::read_to_string(path.join("key")).unwrap(), "2");
    });
}
