//! cgroup v2: on a folder that looks like one, and on the real hierarchy as far as it goes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::{burstable, pod, uid};
use crate::cgroup::{Capacity, CgroupSettings, CgroupVersion, Tree, driver};
use crate::facts::is_root;
use crate::mounts;
use crate::testing::{folder, skip};

fn tree(root: &Path, settings: CgroupSettings) -> Tree {
    let version = CgroupVersion::V2 {
        root: root.to_owned(),
    };
    let hugepages = [(2 << 20, 64 << 20)].into();
    let capacity = Capacity {
        cpus: 2,
        memory: 4 << 30,
        pids: 1000,
        hugepages,
    };
    Tree::new(
        driver("cgroupfs", version, true).unwrap(),
        settings,
        capacity,
    )
}

/// The files that the kernel would make in a new cgroup.
fn fill(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for file in [
        "cgroup.subtree_control",
        "cgroup.procs",
        "cpu.weight",
        "cpu.max",
        "memory.max",
        "memory.min",
        "memory.low",
        "pids.max",
        "hugetlb.2MB.max",
        "hugetlb.2MB.rsvd.max",
    ] {
        fs::write(folder.join(file), "").unwrap();
    }
    fs::write(
        folder.join("cgroup.controllers"),
        "cpuset cpu io memory hugetlb pids rdma misc\n",
    )
    .unwrap();
}

#[test]
fn values_are_those_of_version_2() {
    let (_guard, root) = folder();
    let names = [
        "",
        "kubepods",
        "kubepods/burstable",
        "kubepods/besteffort",
        "kubepods/podg1",
        "kubepods/burstable/podb1",
    ];
    names.iter().for_each(|name| fill(&root.join(name)));
    let value = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let tree = tree(
        &root,
        CgroupSettings {
            pod_pids: Some(9),
            ..CgroupSettings::default()
        },
    );
    tree.start().unwrap();
    assert_eq!(value("kubepods/cpu.weight"), "79");
    assert_eq!(value("kubepods/memory.max"), (4_u64 << 30).to_string());
    assert_eq!(value("kubepods/memory.min"), "0");
    assert_eq!(value("kubepods/hugetlb.2MB.max"), (64 << 20).to_string());
    assert_eq!(value("kubepods/besteffort/cpu.weight"), "1");
    assert_eq!(
        value("kubepods/burstable/hugetlb.2MB.rsvd.max"),
        (1_u64 << 62).to_string()
    );
    let both = json!({"cpu": "1", "memory": "64Mi"});
    assert_eq!(
        tree.prepare(&uid("g1"), &pod(both.clone(), both)).unwrap(),
        "/kubepods/podg1"
    );
    assert_eq!(value("kubepods/podg1/cpu.weight"), "39");
    assert_eq!(value("kubepods/podg1/cpu.max"), "100000 100000");
    assert_eq!(value("kubepods/podg1/memory.max"), (64 << 20).to_string());
    assert_eq!(value("kubepods/podg1/pids.max"), "9");
    assert_eq!(value("kubepods/podg1/hugetlb.2MB.max"), "0");
    tree.prepare(&uid("b1"), &burstable("500m")).unwrap();
    assert_eq!(
        value("kubepods/burstable/podb1/cpu.max"),
        "",
        "no limit, nothing to write"
    );
    assert_eq!(value("kubepods/burstable/cpu.weight"), "20");
}

/// The kernel's own rules: controllers are switched on from the top, a cgroup is a folder that
/// `rmdir` takes with its files.
#[test]
fn the_real_hierarchy_takes_a_pod() {
    let test = "the_real_hierarchy_takes_a_pod";
    if !is_root() {
        return skip(test, "making cgroups needs root");
    }
    let mounts = mounts::all().unwrap();
    let Some(mount) = mounts
        .iter()
        .find(|mount| mount.kind == "cgroup2" && !mount.read_only)
    else {
        return skip(test, "no cgroup v2 hierarchy is mounted");
    };
    let root = format!("gpulet-test-v2-{}", std::process::id());
    let settings = CgroupSettings {
        root: root.clone(),
        ..CgroupSettings::default()
    };
    let before = fs::read_to_string(mount.point.join("cgroup.subtree_control")).unwrap();
    let tree = tree(&mount.point, settings);
    tree.start().unwrap();
    let parent = tree.prepare(&uid("b1"), &burstable("1")).unwrap();
    let folder = mount.point.join(parent.trim_start_matches('/'));
    assert!(folder.join("cgroup.procs").is_file());
    let pages = folder.join("hugetlb.2MB.max");
    assert!(!pages.exists() || fs::read_to_string(pages).unwrap().trim() == "0");
    assert!(tree.pods().unwrap().contains(&uid("b1")));
    tree.remove(&uid("b1")).unwrap();
    assert!(!folder.exists());
    let version = CgroupVersion::V2 {
        root: mount.point.clone(),
    };
    let driver: Arc<_> = driver("cgroupfs", version, false).unwrap();
    driver.remove(&root).unwrap();
    assert!(!mount.point.join(&root).exists());
    let on = fs::read_to_string(mount.point.join("cgroup.subtree_control")).unwrap();
    for controller in on.split_whitespace().filter(|name| !before.contains(*name)) {
        fs::write(
            mount.point.join("cgroup.subtree_control"),
            format!("-{controller}"),
        )
        .unwrap();
    }
}
