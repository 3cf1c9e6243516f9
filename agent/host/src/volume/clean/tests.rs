#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use agent_core::FailKind;
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

use super::super::testing::{Bed, UID, mounted};
use super::{DEEPEST, FOLDER, Removal, remove_tree};
use crate::testing::with_own_mounts;

fn tmpfs(path: &Path) {
    fs::create_dir_all(path).unwrap();
    mount("tmpfs", path, "tmpfs", MountFlags::empty(), None).unwrap();
}

/// The pod's folder.
fn pod(bed: &Bed) -> PathBuf {
    let folder = bed.pods().join(UID);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn what_is_mounted_goes_first_the_deepest_before_all() {
    with_own_mounts("what_is_mounted_goes_first_the_deepest_before_all", || {
        let bed = Bed::new();
        let (pod, outside) = (pod(&bed), bed.outside());
        tmpfs(&pod.join("a b"));
        tmpfs(&pod.join("a b/c"));
        fs::write(pod.join("a b/c/file"), "x").unwrap();
        // Two on top of each other, the host's folder as a whole, and one file of it.
        tmpfs(&pod.join("twice"));
        tmpfs(&pod.join("twice"));
        fs::create_dir(pod.join("host")).unwrap();
        mount_bind(&outside, pod.join("host")).unwrap();
        tmpfs(&pod.join("host/inner"));
        fs::write(pod.join("file"), "").unwrap();
        mount_bind(outside.join("precious"), pod.join("file")).unwrap();
        remove_tree(&bed.pods(), UID).unwrap();
        assert!(!pod.exists());
        assert_eq!(mounted(&bed.root), 0);
        assert_eq!(
            fs::read_to_string(outside.join("precious")).unwrap(),
            "host"
        );
    });
}

#[test]
fn links_are_removed_not_followed() {
    let bed = Bed::new();
    let (pod, outside) = (pod(&bed), bed.outside());
    symlink(&outside, pod.join("link")).unwrap();
    symlink(outside.join("precious"), pod.join("to a file")).unwrap();
    symlink("/", pod.join("root")).unwrap();
    fs::hard_link(outside.join("precious"), pod.join("same")).unwrap();
    remove_tree(&bed.pods(), UID).unwrap();
    assert!(!pod.exists());
    assert!(outside.join("precious").exists());
}

/// A mount that appears after everything was unmounted stops the removal; nothing of it is lost.
#[test]
fn a_mount_is_never_crossed() {
    with_own_mounts("a_mount_is_never_crossed", || {
        let bed = Bed::new();
        let (pod, outside) = (pod(&bed), bed.outside());
        // The same file system as the pod's folder: its device number tells nothing.
        for (from, to) in [
            (outside.clone(), "deep/host"),
            (outside.join("precious"), "file"),
        ] {
            fs::create_dir_all(pod.join("deep/host")).unwrap();
            fs::write(pod.join("file"), "").unwrap();
            mount_bind(from, pod.join(to)).unwrap();
            let top = open(&pod, FOLDER, Mode::empty()).unwrap();
            let mut removal = Removal {
                top,
                path: pod.clone(),
                moved: 0,
            };
            let stop = removal.run().unwrap_err();
            assert_eq!(removal.path, pod.join(to));
            let error = stop.at(removal.path).fail("X");
            assert!(
                error.message.ends_with("is not removed; unmount it"),
                "{error}"
            );
            assert_eq!(error.kind, FailKind::Retry);
            unmount(pod.join(to), UnmountFlags::empty()).unwrap();
        }
        assert!(outside.join("precious").exists());
        remove_tree(&bed.pods(), UID).unwrap();
    });
}

#[test]
fn a_mount_that_is_in_use_stops_everything() {
    with_own_mounts("a_mount_that_is_in_use_stops_everything", || {
        let bed = Bed::new();
        let pod = pod(&bed);
        fs::write(pod.join("first"), "x").unwrap();
        tmpfs(&pod.join("memory"));
        let used = File::create(pod.join("memory/file")).unwrap();
        let error = remove_tree(&bed.pods(), UID)
            .unwrap_err()
            .fail("FailedCleanUp");
        assert!(
            error.message.contains("unmount") && error.message.contains("memory"),
            "{error}"
        );
        assert_eq!(error.kind, FailKind::Retry);
        assert!(pod.join("first").exists());
        drop(used);
        remove_tree(&bed.pods(), UID).unwrap();
        assert!(!pod.exists());
    });
}

/// Far deeper than there may be open files, and than a stack would bear.
#[test]
fn a_very_deep_tree_goes() {
    with_own_mounts("a_very_deep_tree_goes", || {
        let bed = Bed::new();
        // Thousands of folders are slow on a disk.
        tmpfs(&bed.pods());
        let pod = pod(&bed);
        fs::write(pod.join("..deep-1"), "taken").unwrap();
        let mut folder: OwnedFd = open(&pod, FOLDER, Mode::empty()).unwrap();
        for level in 0..DEEPEST * 100 {
            mkdirat(&folder, "d", Mode::RWXU).unwrap();
            if level % 10 == 0 {
                openat(&folder, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
            }
            folder = openat(&folder, "d", FOLDER, Mode::empty()).unwrap();
        }
        drop(folder);
        remove_tree(&bed.pods(), UID).unwrap();
        assert!(!pod.exists());
        assert_eq!(fs::read_dir(bed.pods()).unwrap().count(), 0);
        unmount(bed.pods(), UnmountFlags::empty()).unwrap();
    });
}

#[test]
fn only_one_folder_is_named() {
    let bed = Bed::new();
    let pod = pod(&bed);
    let folders = ["", ".", "..", "/", "../pods", &format!("{UID}/")];
    for name in folders {
        assert!(remove_tree(&bed.pods(), name).is_err(), "{name:?}");
    }
    // A link in its place is not the pod's folder.
    symlink(bed.outside(), bed.pods().join("link")).unwrap();
    assert!(remove_tree(&bed.pods(), "link").is_err());
    assert!(pod.exists() && bed.outside().join("precious").exists());
    remove_tree(&bed.root.join("nothing"), UID).unwrap();
}
