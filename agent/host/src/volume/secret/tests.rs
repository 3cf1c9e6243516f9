#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use agent_core::{Fail, FailKind};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::super::testing::{Bed, UID, mode, mounted, pod};
use super::super::{make_all, remove_tree};
use crate::mounts;
use crate::testing::with_own_mounts;

/// A pod with one secret volume `v`.
fn with(source: Value, group: Value) -> Pod {
    pod(json!({
        "securityContext": {"fsGroup": group},
        "volumes": [{"name": "v", "secret": source}],
    }))
}

fn read(path: &Path, name: &str) -> String {
    fs::read_to_string(path.join(name)).unwrap()
}

/// Names that a container sees.
fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("..")).collect();
    names.sort();
    names
}

#[test]
fn keys_are_files_in_memory() {
    with_own_mounts("keys_are_files_in_memory", || {
        let mut bed = Bed::new();
        bed.secret("s", &[("user", "me"), ("password", "hidden")]);
        let path = &bed
            .make(&with(json!({"secretName": "s"}), Value::Null))
            .unwrap()["v"];
        assert_eq!(path, &bed.volume("secret", "v"));
        assert_eq!(names(path), ["password", "user"]);
        assert_eq!(
            (read(path, "user"), read(path, "password")),
            ("me".into(), "hidden".into())
        );
        assert_eq!(
            mode(&fs::canonicalize(path.join("user")).unwrap()),
            0o644,
            "the default of the API"
        );
        let all = mounts::below(path).unwrap();
        assert_eq!(
            all.iter().map(|mount| &*mount.kind).collect::<Vec<_>>(),
            ["tmpfs"]
        );
    });
}

#[test]
fn items_choose_path_and_mode() {
    with_own_mounts("items_choose_path_and_mode", || {
        // The group reads what it owns.
        let table = [(None, [0o604, 0o400]), (Some(4321), [0o644, 0o440])];
        for (group, modes) in table {
            let mut bed = Bed::new();
            bed.secret("s", &[("user", "me"), ("password", "hidden")]);
            let items = json!([
                {"key": "user", "path": "deep/er/name"},
                {"key": "password", "path": "./pw", "mode": 0o400},
            ]);
            let source = json!({"secretName": "s", "defaultMode": 0o604, "items": items});
            let path = &bed.make(&with(source, json!(group))).unwrap()["v"];
            assert_eq!(names(path), ["deep", "pw"]);
            assert_eq!(read(path, "deep/er/name"), "me");
            let real =
                ["deep/er/name", "pw"].map(|name| fs::canonicalize(path.join(name)).unwrap());
            assert_eq!(real.each_ref().map(|path| mode(path)), modes);
            let owner = fs::metadata(&real[1]).unwrap();
            assert_eq!((owner.uid(), owner.gid()), (0, group.unwrap_or(0)));
        }
    });
}

#[test]
fn a_change_is_seen_in_place() {
    with_own_mounts("a_change_is_seen_in_place", || {
        let mut bed = Bed::new();
        let pod = with(json!({"secretName": "s"}), Value::Null);
        let hidden = |path: &Path| fs::read_link(path.join("..data")).unwrap();
        bed.secret("s", &[("stays", "1"), ("goes", "x")]);
        let path = bed.make(&pod).unwrap()["v"].clone();
        let first = hidden(&path);
        bed.make(&pod).unwrap();
        assert_eq!(
            hidden(&path),
            first,
            "the same content is not written again"
        );
        // A running container holds the folder.
        let held = fs::File::open(&path).unwrap();
        bed.secret("s", &[("stays", "2"), ("comes", "y")]);
        bed.make(&pod).unwrap();
        assert_eq!(names(&path), ["comes", "stays"]);
        assert_eq!(read(&path, "stays"), "2");
        assert_ne!(hidden(&path), first);
        assert!(!path.join(first).exists(), "the old content takes memory");
        assert_eq!(
            held.metadata().unwrap().ino(),
            fs::metadata(&path).unwrap().ino()
        );
        assert_eq!(mounted(&path), 1);
        drop(held);
        remove_tree(&bed.pods(), UID).unwrap();
        assert_eq!((path.exists(), mounted(&bed.root)), (false, 0));
    });
}

#[test]
fn one_that_is_not_there_is_waited_for() {
    with_own_mounts("one_that_is_not_there_is_waited_for", || {
        let mut bed = Bed::new();
        let pod = with(json!({"secretName": "y"}), Value::Null);
        for answer in [None, Some(Fail::gone("X", "any words"))] {
            if let Some(fail) = answer {
                bed.references.secrets.insert("y".to_owned(), Err(fail));
            }
            let fail = make_all(bed.making(&pod)).unwrap_err().fail("FailedMount");
            let expected = "MountVolume.SetUp failed for volume \"v\" : secret \"y\" not found";
            assert_eq!(fail, Fail::retry("FailedMount", expected));
            assert!(!bed.volume("secret", "v").exists());
        }
        bed.secret("y", &[("key", "1")]);
        bed.make(&pod).unwrap();
    });
}

#[test]
fn an_optional_one_may_be_missing_but_not_unread() {
    with_own_mounts("an_optional_one_may_be_missing_but_not_unread", || {
        let mut bed = Bed::new();
        let items = json!([{"key": "a", "path": "a"}, {"key": "b", "path": "b"}]);
        let source = json!({"secretName": "s", "optional": true, "items": items});
        let pod = with(source, Value::Null);
        let path = bed.make(&pod).unwrap()["v"].clone();
        assert_eq!(names(&path), [""; 0]);
        bed.secret("s", &[("b", "2")]);
        bed.make(&pod).unwrap();
        assert_eq!(names(&path), ["b"], "a missing key is left out");
        bed.references.secrets.clear();
        bed.make(&pod).unwrap();
        assert_eq!(names(&path), [""; 0], "it is gone again");
        let unread = Err(Fail::retry("X", "time-out"));
        bed.references.secrets.insert("s".to_owned(), unread);
        let made = make_all(bed.making(&pod)).unwrap();
        assert_eq!(made.paths["v"], path);
        let expected = "MountVolume.SetUp failed for volume \"v\" : time-out";
        assert_eq!(made.stale, [Fail::retry("FailedMount", expected)]);
    });
}

#[test]
fn what_cannot_be_is_told_without_its_value() {
    with_own_mounts("what_cannot_be_is_told_without_its_value", || {
        let mut bed = Bed::new();
        bed.secret("s", &[("key", "hidden"), ("..data", "hidden")]);
        let item = |key: &str, path: &str, mode: u32| json!({"secretName": "s", "items": [{"key": key, "path": path, "mode": mode}]});
        let both = json!([{"key": "key", "path": "a"}, {"key": "key", "path": "a/b"}]);
        let (retry, permanent) = (FailKind::Retry, FailKind::Permanent);
        for (source, kind, expected) in [
            (
                item("no", "x", 0),
                retry,
                "references non-existent secret key: no",
            ),
            (item("key", "../x", 0), permanent, "would lie outside"),
            (item("key", "x/../../y", 0), permanent, "would lie outside"),
            (item("key", "/x", 0), permanent, "would lie outside"),
            (item("key", "x", 0o1777), permanent, "between 0 and 0777"),
            (
                json!({"secretName": "s", "items": both}),
                retry,
                "\"a\" as a file and as the folder of \"a/b\"",
            ),
            (
                json!({"secretName": "s"}),
                permanent,
                "\"..data\" of the volume would lie",
            ),
        ] {
            let unmounted = make_all(bed.making(&with(source, Value::Null))).unwrap_err();
            let fail = unmounted.fail("FailedMount");
            assert_eq!(fail.kind, kind, "{fail}");
            assert!(fail.message.contains(expected), "{fail}");
            let shown = format!("{unmounted:?}{fail:?}");
            assert!(!shown.contains("hidden"), "{shown}");
        }
    });
}
