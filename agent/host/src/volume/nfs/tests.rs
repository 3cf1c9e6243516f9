#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;

use agent_core::FailKind;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::super::testing::{Bed, UID, mounted, pod};
use super::super::{make_all, remove_tree};
use crate::testing::with_own_mounts;

/// What a server would have, in the place of it.
const MOUNT_MEMORY: &str = "for target; do :; done; exec mount -t tmpfs export \"$target\"";

fn with(source: Value) -> Pod {
    pod(json!({"volumes": [{"name": "v", "nfs": source}]}))
}

fn said(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn an_export_is_mounted_once() {
    with_own_mounts("an_export_is_mounted_once", || {
        let mut bed = Bed::new();
        let arguments = bed.fake_mount(MOUNT_MEMORY);
        let pod = with(json!({"server": "store", "path": "/a b", "readOnly": true}));
        let path = bed.make(&pod).unwrap()["v"].clone();
        assert_eq!(path, bed.volume("nfs", "v"));
        let target = path.to_str().unwrap();
        assert_eq!(
            said(&arguments),
            ["-t", "nfs", "-o", "ro", "store:/a b", target]
        );
        fs::remove_file(&arguments).unwrap();
        bed.make(&pod).unwrap();
        assert!(!arguments.exists() && mounted(&path) == 1);
        remove_tree(&bed.pods(), UID).unwrap();
        assert_eq!((path.exists(), mounted(&bed.root)), (false, 0));
    });
}

#[test]
fn options_come_from_the_persistent_volume() {
    with_own_mounts("options_come_from_the_persistent_volume", || {
        let mut bed = Bed::new();
        let arguments = bed.fake_mount(MOUNT_MEMORY);
        let spec = json!({"nfs": {"server": "fd00::1", "path": "/x"},
            "mountOptions": ["soft", "nfsvers=4", "soft", ""]});
        bed.claim("c", json!({"metadata": {"name": "pv-1"}, "spec": spec}));
        let claim = json!({"claimName": "c", "readOnly": true});
        let pod = pod(json!({"volumes": [{"name": "v", "persistentVolumeClaim": claim}]}));
        let path = bed.make(&pod).unwrap()["v"].clone();
        assert_eq!(path, bed.volume("nfs", "pv-1"));
        let options = said(&arguments)[2..5].to_vec();
        assert_eq!(options, ["-o", "nfsvers=4,ro,soft", "[fd00::1]:/x"]);
    });
}

#[test]
fn a_failure_is_told_as_everybody_knows_it() {
    with_own_mounts("a_failure_is_told_as_everybody_knows_it", || {
        let mut bed = Bed::new();
        bed.fake_mount("echo 'access denied' >&2; exit 32");
        let pod = with(json!({"server": "store", "path": "/x"}));
        let fail = make_all(bed.making(&pod)).unwrap_err().fail("FailedMount");
        let path = bed.volume("nfs", "v");
        let expected = format!(
            "MountVolume.SetUp failed for volume \"v\" : mount failed: exit status 32\n\
             Mounting command: mount\nMounting arguments: -t nfs store:/x {}\n\
             Output: access denied\n",
            path.display()
        );
        assert_eq!((fail.kind, fail.message), (FailKind::Retry, expected));
        assert!(!path.exists());
        // One that mounts and fails all the same leaves nothing behind.
        let then = "for target; do :; done; mount -t tmpfs export \"$target\"; exit 1";
        bed.fake_mount(then);
        bed.make(&pod).unwrap_err();
        assert_eq!((path.exists(), mounted(&bed.root)), (false, 0));
    });
}

#[test]
fn a_server_is_no_option() {
    let mut bed = Bed::new();
    let arguments = bed.fake_mount("exit 1");
    for server in ["", "-ofoo"] {
        let pod = with(json!({"server": server, "path": "/"}));
        let fail = bed.make(&pod).unwrap_err().fail("X");
        assert_eq!(fail.kind, FailKind::Permanent, "{fail}");
        assert!(!arguments.exists());
    }
}
