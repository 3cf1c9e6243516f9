#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use agent_core::FailKind;
use k8s_openapi::api::core::v1::Pod;
use rustix::mount::mount_bind;
use serde_json::{Value, json};

use super::super::testing::{Bed, UID, mode, mounted, pod};
use super::super::{make_all, remove_tree};
use crate::mounts;
use crate::testing::with_own_mounts;

fn with(security: Value, read_only: bool) -> Pod {
    let claim = json!({"claimName": "c", "readOnly": read_only});
    pod(json!({
        "securityContext": security,
        "volumes": [{"name": "v", "persistentVolumeClaim": claim}],
    }))
}

fn give(bed: &mut Bed, path: &Path, more: &Value) {
    let mut spec = json!({"local": {"path": path}});
    let more = more.as_object().unwrap().clone();
    spec.as_object_mut().unwrap().extend(more);
    bed.claim("c", json!({"metadata": {"name": "pv-1"}, "spec": spec}));
}

#[test]
fn a_folder_is_bound_once_and_outlives_the_pod() {
    with_own_mounts("a_folder_is_bound_once_and_outlives_the_pod", || {
        let mut bed = Bed::new();
        let outside = bed.outside();
        give(&mut bed, &outside, &json!({}));
        let pod = with(json!({}), false);
        let path = bed.make(&pod).unwrap()["v"].clone();
        assert_eq!(path, bed.volume("local-volume", "pv-1"));
        fs::write(path.join("new"), "x").unwrap();
        bed.make(&pod).unwrap();
        assert_eq!(mounted(&path), 1);
        remove_tree(&bed.pods(), UID).unwrap();
        assert_eq!((path.exists(), mounted(&bed.root)), (false, 0));
        assert!(outside.join("precious").exists() && outside.join("new").exists());
    });
}

#[test]
fn options_hold_for_the_pods_mount_alone() {
    with_own_mounts("options_hold_for_the_pods_mount_alone", || {
        let mut bed = Bed::new();
        let outside = bed.outside();
        give(&mut bed, &outside, &json!({"mountOptions": ["nosuid"]}));
        let path = bed.make(&with(json!({}), true)).unwrap()["v"].clone();
        let mount = mounts::below(&path).unwrap().remove(0);
        assert!(mount.read_only);
        fs::write(path.join("new"), "x").unwrap_err();
        fs::write(outside.join("new"), "x").unwrap();
        // What the program refuses is undone.
        let mut bed = Bed::new();
        bed.fake_mount("exit 1");
        give(&mut bed, &outside, &json!({"mountOptions": ["wrong"]}));
        bed.make(&with(json!({}), false)).unwrap_err();
        assert_eq!(mounted(&bed.root), 0);
    });
}

#[test]
fn what_was_there_is_given_to_the_group() {
    with_own_mounts("what_was_there_is_given_to_the_group", || {
        let mut bed = Bed::new();
        let (outside, folder) = (bed.outside(), bed.root.join("data"));
        fs::create_dir_all(folder.join("deep")).unwrap();
        let file = folder.join("deep/file");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4700)).unwrap();
        symlink(outside.join("precious"), folder.join("link")).unwrap();
        fs::create_dir(folder.join("other")).unwrap();
        mount_bind(&outside, folder.join("other")).unwrap();
        let shown = bed.root.join("shown");
        symlink(&folder, &shown).unwrap();
        give(&mut bed, &shown, &json!({}));
        let path = bed.make(&with(json!({"fsGroup": 4321}), false)).unwrap()["v"].clone();
        let found = |path: &Path| (fs::symlink_metadata(path).unwrap().gid(), mode(path));
        assert_eq!(found(&path), (4321, 0o2775));
        assert_eq!(found(&path.join("deep")), (4321, 0o2775));
        assert_eq!(found(&file), (4321, 0o4760), "no bit is lost");
        assert_eq!(found(&path.join("link")).0, 4321);
        for untouched in [&outside, &outside.join("precious")] {
            assert_eq!(found(untouched).0, 0, "a link or mount was followed");
        }
    });
}

#[test]
fn the_policy_and_other_pods_spare_the_walk() {
    with_own_mounts("the_policy_and_other_pods_spare_the_walk", || {
        let on_mismatch = json!({"fsGroup": 4321, "fsGroupChangePolicy": "OnRootMismatch"});
        let always = json!({"fsGroup": 4321, "fsGroupChangePolicy": "Always"});
        // Policy, group of the top, read-only, another pod has it; whether the file changes.
        for (security, top, read_only, shared, changes) in [
            (&on_mismatch, 4321, false, false, false),
            (&on_mismatch, 9, false, false, true),
            (&always, 4321, false, false, true),
            (&always, 9, true, false, false),
            (&always, 9, false, true, false),
        ] {
            let mut bed = Bed::new();
            let folder = bed.root.join("data");
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("file"), "x").unwrap();
            std::os::unix::fs::chown(&folder, None, Some(top)).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o2770)).unwrap();
            if shared {
                let other = bed
                    .pods()
                    .join("other/volumes/kubernetes.io~local-volume/pv-1");
                fs::create_dir_all(&other).unwrap();
                mount_bind(&folder, &other).unwrap();
            }
            give(&mut bed, &folder, &json!({}));
            bed.make(&with(security.clone(), read_only)).unwrap();
            let group = fs::metadata(folder.join("file")).unwrap().gid();
            assert_eq!(
                group == 4321,
                changes,
                "{security} {top} {read_only} {shared}"
            );
        }
    });
}

#[test]
fn what_is_no_folder_is_told() {
    let mut bed = Bed::new();
    fs::write(bed.root.join("file"), "").unwrap();
    let missing = bed.root.join("missing");
    let (retry, permanent) = (FailKind::Retry, FailKind::Permanent);
    for (path, kind, expected) in [
        (
            missing.clone(),
            retry,
            format!(
                "MountVolume.NewMounter initialization failed for volume \"pv-1\" : path {missing:?} \
                 does not exist"
            ),
        ),
        (
            bed.root.join("file"),
            retry,
            "MountVolume.SetUp failed for volume \"pv-1\" : only directory and block device are \
             supported"
                .to_owned(),
        ),
        (
            "/tmp/../etc".into(),
            permanent,
            "MountVolume.SetUp failed for volume \"pv-1\" : invalid path: /tmp/../etc: it must be \
             absolute and must not contain '..'"
                .to_owned(),
        ),
    ] {
        give(&mut bed, &path, &json!({}));
        let pod = with(json!({}), false);
        let fail = make_all(bed.making(&pod)).unwrap_err().fail("FailedMount");
        assert_eq!((fail.kind, fail.message), (kind, expected));
    }
}
