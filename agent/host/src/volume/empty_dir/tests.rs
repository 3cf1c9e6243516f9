#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use agent_core::FailKind;
use k8s_openapi::api::core::v1::Pod;
use rustix::fs::statfs;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::{Value, json};

use super::super::VolumeError;
use super::super::testing::{Bed, MEMORY, mode, mounted, pod};
use crate::testing::with_own_mounts;

/// A pod with an emptyDir called `v`.
fn with(empty_dir: Value, resources: Value, group: Value) -> Pod {
    pod(json!({
        "containers": [{"name": "c", "resources": resources}],
        "securityContext": {"fsGroup": group},
        "volumes": [{"name": "v", "emptyDir": empty_dir}],
    }))
}

fn made(bed: &Bed, pod: &Pod) -> Result<PathBuf, VolumeError> {
    bed.make(pod).map(|paths| paths["v"].clone())
}

/// Bytes that fit on the file system at the volume.
fn size(path: &PathBuf) -> u64 {
    let stat = statfs(path).unwrap();
    stat.f_blocks * u64::try_from(stat.f_bsize).unwrap()
}

#[test]
fn everybody_may_write() {
    with_own_mounts("everybody_may_write", || {
        let bed = Bed::new();
        let pod = with(json!({}), json!({}), Value::Null);
        let path = made(&bed, &pod).unwrap();
        assert_eq!(mode(&path), 0o777);
        assert_eq!(mode(path.parent().unwrap()), 0o750);
        // A container may change its volume; that stays.
        fs::write(path.join("file"), "x").unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(made(&bed, &pod).unwrap(), path);
        assert_eq!(mode(&path), 0o700);
    });
}

#[test]
fn the_group_owns_it() {
    with_own_mounts("the_group_owns_it", || {
        for medium in ["", "Memory"] {
            let bed = Bed::new();
            let path = made(
                &bed,
                &with(json!({"medium": medium}), json!({}), json!(4321)),
            )
            .unwrap();
            assert_eq!(fs::metadata(&path).unwrap().gid(), 4321, "{medium}");
            assert_eq!(mode(&path) & 0o2777, 0o2777, "{medium}");
            unmount_all(&bed);
        }
    });
}

#[test]
fn one_that_was_made_half_is_finished() {
    with_own_mounts("one_that_was_made_half_is_finished", || {
        let bed = Bed::new();
        let unfinished = bed.volume("empty-dir", "v.unfinished");
        fs::create_dir_all(&unfinished).unwrap();
        let path = made(&bed, &with(json!({}), json!({}), json!(4321))).unwrap();
        assert_eq!(
            (fs::metadata(&path).unwrap().gid(), mode(&path)),
            (4321, 0o2777)
        );
        assert!(!unfinished.exists());
    });
}

#[test]
fn memory_is_as_large_as_the_least_limit() {
    with_own_mounts("memory_is_as_large_as_the_least_limit", || {
        let limit = |memory: &str| json!({"limits": {"memory": memory}});
        let table = [
            (json!({"medium": "Memory"}), json!({}), MEMORY),
            (json!({"medium": "Memory"}), limit("32Mi"), 32 << 20),
            (
                json!({"medium": "Memory", "sizeLimit": "8Mi"}),
                limit("32Mi"),
                8 << 20,
            ),
            (
                json!({"medium": "Memory", "sizeLimit": "64Mi"}),
                limit("32Mi"),
                32 << 20,
            ),
            (
                json!({"medium": "Memory", "sizeLimit": "0"}),
                json!({}),
                MEMORY,
            ),
        ];
        for (source, resources, expected) in table {
            let bed = Bed::new();
            let path = made(&bed, &with(source.clone(), resources, Value::Null)).unwrap();
            assert_eq!(size(&path), expected, "{source}");
            assert_eq!(mode(&path), 0o1777);
            unmount_all(&bed);
        }
    });
}

#[test]
fn memory_is_mounted_once_and_again_when_it_is_gone() {
    with_own_mounts("memory_is_mounted_once_and_again_when_it_is_gone", || {
        let bed = Bed::new();
        // The agent's own folder on a tmpfs must not be taken for the volume's.
        fs::create_dir(bed.root.join("kubelet")).unwrap();
        mount(
            "tmpfs",
            bed.root.join("kubelet"),
            "tmpfs",
            MountFlags::empty(),
            None,
        )
        .unwrap();
        let pod = with(
            json!({"medium": "Memory", "sizeLimit": "1Mi"}),
            json!({}),
            Value::Null,
        );
        let path = made(&bed, &pod).unwrap();
        assert_eq!((mounted(&path), size(&path)), (1, 1 << 20));
        made(&bed, &pod).unwrap();
        assert_eq!(mounted(&path), 1);
        // As after a reboot.
        unmount(&path, UnmountFlags::empty()).unwrap();
        made(&bed, &pod).unwrap();
        assert_eq!(mounted(&path), 1);
        unmount_all(&bed);
    });
}

#[test]
fn something_else_on_its_place_is_told() {
    with_own_mounts("something_else_on_its_place_is_told", || {
        let bed = Bed::new();
        let path = bed.volume("empty-dir", "v");
        fs::create_dir_all(&path).unwrap();
        mount("proc", &path, "proc", MountFlags::empty(), None).unwrap();
        let error = made(
            &bed,
            &with(json!({"medium": "Memory"}), json!({}), Value::Null),
        )
        .unwrap_err();
        assert!(
            error.to_string().contains("something else than tmpfs"),
            "{error}"
        );
        assert_eq!((error.fail("X").kind, mounted(&path)), (FailKind::Retry, 1));
        unmount_all(&bed);
    });
}

#[test]
fn huge_pages_have_the_size_that_is_asked_for() {
    with_own_mounts("huge_pages_have_the_size_that_is_asked_for", || {
        if !fs::read_to_string("/proc/filesystems")
            .unwrap()
            .contains("hugetlbfs")
        {
            return crate::testing::skip(
                "huge_pages_have_the_size_that_is_asked_for",
                "no hugetlbfs",
            );
        }
        let asked = |names: &[&str]| {
            let amounts: serde_json::Map<String, Value> = names
                .iter()
                .map(|name| (format!("hugepages-{name}"), json!("4Mi")))
                .collect();
            json!({"limits": amounts, "requests": amounts})
        };
        let good = [
            ("HugePages", vec!["2Mi"]),
            ("HugePages-2Mi", vec!["2Mi", "1Gi"]),
        ];
        for (medium, names) in good {
            let bed = Bed::new();
            let pod = with(json!({"medium": medium}), asked(&names), Value::Null);
            let path = made(&bed, &pod).unwrap();
            assert_eq!(statfs(&path).unwrap().f_bsize, 2 << 20);
            made(&bed, &pod).unwrap();
            assert_eq!(mounted(&path), 1);
            unmount_all(&bed);
        }
        let bad = [
            ("HugePages", vec![]),
            ("HugePages", vec!["2Mi", "1Gi"]),
            ("HugePages-1Gi", vec!["2Mi"]),
        ];
        for (medium, names) in bad {
            let bed = Bed::new();
            let error = made(
                &bed,
                &with(json!({"medium": medium}), asked(&names), Value::Null),
            )
            .unwrap_err();
            assert_eq!(
                error.fail("X").kind,
                FailKind::Permanent,
                "{medium} {names:?}: {error}"
            );
        }
    });
}

/// The scratch folder cannot be removed with something mounted in it.
fn unmount_all(bed: &Bed) {
    for mount in crate::mounts::below(&bed.root).unwrap() {
        let point = mount.point;
        unmount(point, UnmountFlags::DETACH).unwrap();
    }
}
