#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use super::super::testing::pod;
use super::{DEEPEST, give_existing_to_group, only_user};
use crate::facts::is_root;
use crate::testing::{folder, skip};

#[test]
fn the_one_user_is_that_of_every_container() {
    let of = |pod_user: Option<i64>, users: &[Option<i64>]| {
        let container = |(at, user): (usize, &Option<i64>)| json!({"name": format!("c{at}"), "securityContext": {"runAsUser": user}});
        let containers: Vec<_> = users.iter().enumerate().map(container).collect();
        only_user(&pod(json!({
            "securityContext": {"runAsUser": pod_user},
            "containers": containers[..1], "initContainers": containers[1..],
        })))
    };
    assert_eq!(of(None, &[None]), None);
    assert_eq!(of(Some(5), &[None, None]), Some(5));
    assert_eq!(of(Some(5), &[Some(6), Some(6)]), Some(6));
    assert_eq!(of(Some(5), &[Some(6), None]), None);
    assert_eq!(of(None, &[Some(0), Some(0)]), Some(0));
    assert_eq!(of(None, &[Some(-1)]), None);
}

/// A container that changes the volume all the time gets no file of the host.
#[test]
fn a_link_that_is_swapped_in_is_not_followed() {
    if !is_root() {
        return skip("a_link_that_is_swapped_in_is_not_followed", "it needs root");
    }
    let (_guard, root) = folder();
    let [volume, outside] = ["volume", "outside"].map(|name| root.join(name));
    fs::create_dir_all(volume.join("real")).unwrap();
    fs::write(volume.join("real/precious"), "own").unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "host").unwrap();
    symlink(&outside, volume.join("link")).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (done, volume) = (Arc::clone(&done), volume.clone());
        thread::spawn(move || {
            let mut swaps = 0;
            while !done.load(Ordering::Relaxed) {
                let [a, b] = ["real", "link"].map(|name| volume.join(name));
                renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
                swaps += 1;
            }
            swaps
        })
    };
    let pod = pod(json!({"securityContext": {"fsGroup": 4321}}));
    for _ in 0..500 {
        // What is a link at that moment may also be refused.
        let _ = give_existing_to_group(&pod, &volume);
    }
    done.store(true, Ordering::Relaxed);
    assert!(swapper.join().unwrap() > 100, "no race");
    for path in [&outside, &outside.join("precious")] {
        let found = fs::metadata(path).unwrap();
        assert_eq!((found.gid(), found.mode() & 0o2020), (0, 0));
    }
}

#[test]
fn a_tree_without_end_is_refused() {
    if !is_root() {
        return skip("a_tree_without_end_is_refused", "it needs root");
    }
    let (_guard, root) = folder();
    let deep: PathBuf = std::iter::repeat_n("d", DEEPEST + 2).collect();
    fs::create_dir_all(root.join(deep)).unwrap();
    let pod = pod(json!({"securityContext": {"fsGroup": 4321}}));
    let error = give_existing_to_group(&pod, &root).unwrap_err();
    assert!(error.to_string().contains("nested more than"), "{error}");
}
