//! A container's OCI runtime configuration as runc was given it: the proof of what really arrived.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use oci_spec::runtime::Spec as Document;

/// The parts of one container's configuration that scenarios look at.
#[derive(Debug)]
pub struct Spec {
    document: Document,
}

impl Spec {
    /// Reads the bundle of the running container `id` under containerd's state folder.
    pub fn read(state: &Path, id: &str) -> Result<Spec> {
        let bundle = state.join("io.containerd.runtime.v2.task/k8s.io").join(id);
        let file = bundle.join("config.json");
        let document =
            Document::load(&file).with_context(|| format!("reading {}", file.display()))?;
        Ok(Spec { document })
    }

    /// Paths of the device nodes that are made in the container.
    pub fn devices(&self) -> Vec<PathBuf> {
        let devices = self
            .document
            .linux()
            .as_ref()
            .and_then(|linux| linux.devices().as_ref());
        devices
            .into_iter()
            .flatten()
            .map(|device| device.path().clone())
            .collect()
    }

    /// Major and minor numbers of the character devices with this major number that the device cgroup lets through.
    pub fn allowed_minors(&self, major: i64) -> Vec<i64> {
        let resources = self
            .document
            .linux()
            .as_ref()
            .and_then(|linux| linux.resources().as_ref());
        let rules = resources.and_then(|resources| resources.devices().as_ref());
        let ours = rules.into_iter().flatten().filter(|rule| rule.allow());
        ours.filter(|rule| rule.major() == Some(major))
            .filter_map(|rule| rule.minor())
            .collect()
    }

    /// Where the mount at `destination` comes from.
    pub fn mount(&self, destination: &Path) -> Option<PathBuf> {
        let mut mounts = self.document.mounts().iter().flatten();
        mounts
            .find(|mount| mount.destination() == destination)?
            .source()
            .clone()
    }

    /// Value of an environment variable of the first process; of several the last, which is the one that counts.
    pub fn variable(&self, name: &str) -> Option<String> {
        let process = self.document.process().as_ref()?;
        let all = process.env().iter().flatten().rev();
        all.filter_map(|line| line.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, v)| v.to_owned())
    }

    /// Path of the container's cgroup.
    pub fn cgroup(&self) -> Option<PathBuf> {
        self.document.linux().as_ref()?.cgroups_path().clone()
    }
}
