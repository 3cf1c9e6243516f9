#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;

use super::{Unified, delegate};
use crate::cgroup::{CgroupDriver, Limits};
use crate::testing::folder;

#[test]
fn only_what_is_off_is_switched_on() {
    let (_guard, root) = folder();
    let control = root.join("cgroup.subtree_control");
    fs::write(
        root.join("cgroup.controllers"),
        "cpuset cpu io memory pids rdma misc\n",
    )
    .unwrap();
    fs::write(&control, "memory pids\n").unwrap();
    delegate(&root).unwrap();
    assert_eq!(fs::read_to_string(&control).unwrap(), "+cpu +cpuset +io");
    fs::write(&control, "cpuset cpu io memory pids\n").unwrap();
    delegate(&root).unwrap();
    assert_eq!(
        fs::read_to_string(&control).unwrap(),
        "cpuset cpu io memory pids\n"
    );
}

#[test]
fn a_controller_that_the_kernel_lacks_limits_nothing() {
    let (_guard, root) = folder();
    fs::write(root.join("cgroup.controllers"), "pids\n").unwrap();
    fs::create_dir(root.join("pod")).unwrap();
    fs::write(root.join("pod/pids.max"), "").unwrap();
    let driver = Unified::open(root.clone()).unwrap();
    let limits = Limits {
        cpu_shares: Some(1024),
        memory: Some(1),
        pids: Some(5),
        no_memory_protection: true,
        ..Limits::default()
    };
    driver.set("pod", &limits).unwrap();
    assert_eq!(fs::read_to_string(root.join("pod/pids.max")).unwrap(), "5");
    // One that it has, in a cgroup that is gone, is an error.
    assert!(driver.set("gone", &limits).is_err());
}
