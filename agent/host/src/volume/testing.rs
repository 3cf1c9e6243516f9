//! A pod's place on this machine for tests of volumes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::PodUid;
use agent_loops::ports::References;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Pod, Secret};
use serde_json::{Value, json};

use super::{Making, Unmounted, VolumeError, make_all};
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
    pub(super) references: References,
    mount_program: PathBuf,
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
            mount_program: PathBuf::from("mount"),
        }
    }

    pub(super) fn making<'a>(&'a self, pod: &'a Pod) -> Making<'a> {
        Making {
            layout: &self.layout,
            tree: &self.tree,
            uid: &self.uid,
            pod,
            references: &self.references,
            mount_program: &self.mount_program,
        }
    }

    /// Path by volume name, or why the first volume that is wrong cannot be made.
    pub(super) fn make(&self, pod: &Pod) -> Result<BTreeMap<String, PathBuf>, VolumeError> {
        match make_all(self.making(pod)) {
            Ok(made) => Ok(made.paths),
            Err(Unmounted(mut failures)) => Err(failures.remove(0).error),
        }
    }

    /// A program in the place of `mount`: writes its arguments, one a line, to a file, then does `then`.
    /// Gives the file.
    pub(super) fn fake_mount(&mut self, then: &str) -> PathBuf {
        let (program, said) = (self.root.join("mount"), self.root.join("arguments"));
        let text = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\n{then}\n",
            said.display()
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        self.mount_program = program;
        said
    }

    /// The API server has this secret, in place of an older one.
    pub(super) fn secret(&mut self, name: &str, data: &[(&str, &str)]) {
        let data = data
            .iter()
            .map(|(key, value)| (key.to_string(), ByteString(value.as_bytes().to_vec())));
        let secret = Secret {
            data: Some(data.collect()),
            ..Secret::default()
        };
        let secrets = &mut self.references.secrets;
        secrets.insert(name.to_owned(), Ok(Arc::new(secret)));
    }

    /// The claim is bound to this persistent volume.
    pub(super) fn claim(&mut self, name: &str, volume: Value) {
        let volume = serde_json::from_value(volume).unwrap();
        let claims = &mut self.references.claims;
        claims.insert(name.to_owned(), Ok(Arc::new(volume)));
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

/// A pod of whose volumes each is used: those that no container mounts get a mount in the first one.
pub(super) fn pod(mut spec: Value) -> Pod {
    let volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
    let names: Vec<Value> = volumes
        .iter()
        .map(|volume| volume["name"].clone())
        .collect();
    if spec["containers"].as_array().is_none_or(Vec::is_empty) {
        spec["containers"] = json!([{"name": "c"}]);
    }
    let containers = spec["containers"].as_array_mut().unwrap();
    let used = serde_json::to_string(containers).unwrap();
    let unused = names
        .iter()
        .filter(|name| !used.contains(&format!("\"name\":{name}")));
    let unused: Vec<Value> = unused
        .map(|name| json!({"name": name, "mountPath": format!("/at/{}", name.as_str().unwrap())}))
        .collect();
    if !unused.is_empty() {
        let first = containers[0].as_object_mut().unwrap();
        let mounts = first.entry("volumeMounts").or_insert(json!([]));
        mounts.as_array_mut().unwrap().extend(unused);
    }
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
