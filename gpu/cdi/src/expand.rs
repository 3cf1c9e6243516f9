//! A document in plain terms, for runtimes that know no CDI.

use std::path::{Component, Path, PathBuf};

use crate::document::{Document, Edits, Hook};

/// What a container needs, without any CDI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainEdits {
    /// Environment.
    pub env: Vec<(String, String)>,
    /// Bind mounts.
    pub mounts: Vec<PlainMount>,
    /// Device nodes.
    pub nodes: Vec<PlainNode>,
}

/// A bind mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainMount {
    /// Path on the host.
    pub host: String,
    /// Path in the container.
    pub container: String,
    /// The container may only read.
    pub read_only: bool,
}

/// A device node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainNode {
    /// Path on the host.
    pub host: String,
    /// Path in the container.
    pub container: String,
    /// Of `r`, `w` and `m`.
    pub permissions: String,
}

/// A device that the document does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the CDI document has no device {0}")]
pub struct UnknownDevice(pub String);

impl Document {
    /// The edits of these devices and of the document, each once.
    ///
    /// Hooks cannot be expressed. What they do is done otherwise: a link to a mounted file becomes a
    /// second mount of that file under the link's name. The library cache is left as it is: the loader
    /// finds the libraries if their folder is one that it searches anyway, as on most hosts.
    pub fn expand(&self, devices: &[&str]) -> Result<PlainEdits, UnknownDevice> {
        let mut plain = PlainEdits::default();
        plain.add(&self.container_edits);
        for name in devices {
            let device = self
                .device(name)
                .ok_or_else(|| UnknownDevice((*name).to_owned()))?;
            plain.add(&device.container_edits);
        }
        plain.add_links(&self.container_edits);
        Ok(plain)
    }
}

impl PlainEdits {
    fn add(&mut self, edits: &Edits) {
        let env = edits.env.iter().filter_map(|line| line.split_once('='));
        for (name, value) in env {
            add_once(&mut self.env, (name.to_owned(), value.to_owned()));
        }
        for mount in &edits.mounts {
            let mount = PlainMount {
                host: mount.host_path.clone(),
                container: mount.container_path.clone(),
                read_only: mount.options.iter().any(|option| option == "ro"),
            };
            add_once(&mut self.mounts, mount);
        }
        for node in &edits.device_nodes {
            let node = PlainNode {
                host: node.host_path.clone().unwrap_or_else(|| node.path.clone()),
                container: node.path.clone(),
                permissions: node.permissions.clone().unwrap_or_else(|| "rw".to_owned()),
            };
            add_once(&mut self.nodes, node);
        }
    }

    fn add_links(&mut self, edits: &Edits) {
        for (target, link) in edits.hooks.iter().flat_map(links) {
            let target = link
                .parent()
                .map(|folder| joined(folder, Path::new(target)));
            let Some(target) = target.and_then(|path| path.to_str().map(str::to_owned)) else {
                continue;
            };
            // A link may lead to a link that has become a mount just now: links come in that order.
            let Some(file) = self.mounts.iter().find(|mount| mount.container == target) else {
                continue;
            };
            let container = link.to_string_lossy().into_owned();
            let mount = PlainMount {
                container,
                ..file.clone()
            };
            add_once(&mut self.mounts, mount);
        }
    }
}

/// Links that a hook of ours makes: target and path.
fn links(hook: &Hook) -> impl Iterator<Item = (&str, PathBuf)> {
    let values = hook.args.iter().zip(hook.args.iter().skip(1));
    let values = values
        .filter(|(option, _)| *option == "--link")
        .map(|(_, value)| value);
    values
        .filter_map(|value| value.split_once("::"))
        .map(|(t, link)| (t, PathBuf::from(link)))
}

/// `path` as seen from `folder`, without `..`.
fn joined(folder: &Path, path: &Path) -> PathBuf {
    let mut joined = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::ParentDir => {
                joined.pop();
            }
            Component::CurDir => {}
            other => joined.push(other),
        }
    }
    joined
}

fn add_once<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests;
