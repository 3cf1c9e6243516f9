//! A pod's place on this machine for tests of volumes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use agent_core::PodUid;
use agent_loops::ports::References;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::Making;
use crate::cgroup::{Capacity, CgroupSettings, CgroupVersion, Tree, driver};
use crate::layout::Layout;
use crate::mounts;
use crate::testing::folder;

pub(super) const UID: &str = "0123-4567";
/// Memory of the node of these tests.
pub(super) const MEMORY: u64 = 256 << 20;

#[derive(Debug)]
pub(super) struct Bed {
    _guard: tempfile::TempDir,
    pub(super) root: PathBuf,
    layout: Layout,
    tree: Tree,
    uid: PodUid,
    references: References,
}

impl Bed {
    pub(super) fn new() -> Self {
        let (guard, root) = folder();
        let cgroups = root.join("cgroups");
        fs::create_dir(&cgroups).unwrap();
        fs::write(cgroups.join("cgroup.controllers"), "\n").unwrap();
        let driver = driver("cgroupfs", CgroupVersion::V2 { root: cgroups }, true).unwrap();
        let capacity = Capacity {
            cpus: 4,
            memory: MEMORY,
            ..Capacity::default()
        };
        let layout = Layout::new(root.join("kubelet"), root.join("logs"));
        let tree = Tree::new(driver, CgroupSettings::default(), capacity);
        Self {
            _guard: guard,
            root,
            layout,
            tree,
            uid: PodUid::new(UID),
            references: References::default(),
        }
    }

    pub(super) fn making<'a>(&'a self, pod: &'a Pod) -> Making<'a> {
        Making {
            layout: &self.layout,
            tree: &self.tree,
            uid: &self.uid,
            pod,
            references: &self.references,
        }
    }

    pub(super) fn pods(&self) -> PathBuf {
        self.layout.pods()
    }

    pub(super) fn volume(&self, plugin: &str, name: &str) -> PathBuf {
        self.layout.volume(&self.uid, plugin, name)
    }

    /// A file or folder of the host that no pod may touch.
    pub(super) fn outside(&self) -> PathBuf {
        let folder = self.root.join("outside");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("precious"), "host").unwrap();
        folder
    }
}

pub(super) fn pod(spec: Value) -> Pod {
    let metadata = json!({
        "name": "web", "namespace": "shop", "uid": UID, "labels": {"tier": "front", "app": "web"},
    });
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

/// Permission bits and those above them.
pub(super) fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// How many mounts are at `path` or below it.
pub(super) fn mounted(path: &Path) -> usize {
    mounts::below(path).unwrap().len()
}
