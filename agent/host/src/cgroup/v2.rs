//! cgroup v2: one hierarchy, controllers switched on from the top down.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tracing::warn;

use super::folder::{self, read, write};
use super::hierarchies::NEEDED;
use super::{CgroupDriver, CgroupError, Limits, capacity, convert, failed};

/// Controllers that pods use, switched on where the kernel has them.
const CONTROLLERS: &[&str] = &["cpu", "cpuset", "hugetlb", "io", "memory", "pids"];

/// The unified hierarchy.
#[derive(Debug)]
pub(super) struct Unified {
    root: PathBuf,
    /// Controllers that the kernel has in it. Others limit nothing.
    controllers: BTreeSet<String>,
}

impl Unified {
    /// The hierarchy mounted on `root`.
    pub(super) fn open(root: PathBuf) -> Result<Self, CgroupError> {
        let controllers = read(&root.join("cgroup.controllers"))?;
        let controllers: BTreeSet<String> =
            controllers.split_whitespace().map(str::to_owned).collect();
        for missing in NEEDED.iter().filter(|name| !controllers.contains(**name)) {
            warn!(
                controller = missing,
                "cgroup v2 has no such controller here; it limits no pod"
            );
        }
        Ok(Self { root, controllers })
    }

    fn write(
        &self,
        name: &str,
        controller: &str,
        file: &str,
        value: String,
    ) -> Result<(), CgroupError> {
        if !self.controllers.contains(controller) {
            return Ok(());
        }
        write(&self.root.join(name).join(file), &value)
    }
}

impl CgroupDriver for Unified {
    fn create(&self, name: &str) -> Result<(), CgroupError> {
        let mut folder = self.root.clone();
        for part in name.split('/') {
            delegate(&folder)?;
            folder.push(part);
            match fs::create_dir(&folder) {
                Err(error) if !folder.is_dir() => return Err(failed("make", folder)(error)),
                _ => {}
            }
        }
        Ok(())
    }

    fn set(&self, name: &str, limits: &Limits) -> Result<(), CgroupError> {
        if let Some(shares) = limits.cpu_shares {
            self.write(
                name,
                "cpu",
                "cpu.weight",
                convert::weight(shares).to_string(),
            )?;
        }
        if let Some(quota) = limits.cpu_quota {
            let micros = quota
                .micros
                .map_or("max".to_owned(), |micros| micros.to_string());
            let value = format!("{micros} {}", quota.period.as_micros());
            self.write(name, "cpu", "cpu.max", value)?;
        }
        if let Some(bytes) = limits.memory {
            self.write(name, "memory", "memory.max", bytes.to_string())?;
        }
        if let Some(count) = limits.pids {
            self.write(name, "pids", "pids.max", count.to_string())?;
        }
        for (size, bytes) in &limits.hugepages {
            for kind in ["max", "rsvd.max"] {
                let file = format!("hugetlb.{}.{kind}", capacity::page_size(*size));
                // Reservations are counted apart since Linux 5.7.
                if self.root.join(name).join(&file).exists() {
                    self.write(name, "hugetlb", &file, bytes.to_string())?;
                }
            }
        }
        if limits.no_memory_protection {
            for file in ["memory.min", "memory.low"] {
                self.write(name, "memory", file, "0".to_owned())?;
            }
        }
        Ok(())
    }

    fn cpu_shares(&self, name: &str) -> Result<i64, CgroupError> {
        if !self.controllers.contains("cpu") {
            return Ok(0);
        }
        let weight = read(&self.root.join(name).join("cpu.weight"))?;
        Ok(convert::shares(weight.parse().unwrap_or(0)))
    }

    fn exists(&self, name: &str) -> bool {
        self.root.join(name).is_dir()
    }

    fn pids(&self, name: &str) -> Result<BTreeSet<i32>, CgroupError> {
        Ok(folder::processes(&self.root.join(name))?
            .into_iter()
            .collect())
    }

    fn children(&self, name: &str) -> Result<BTreeSet<String>, CgroupError> {
        Ok(folder::children(&self.root.join(name))?
            .into_iter()
            .collect())
    }

    fn remove(&self, name: &str) -> Result<(), CgroupError> {
        folder::remove(&self.root.join(name))
    }

    fn runtime_name(&self, name: &str) -> String {
        format!("/{name}")
    }
}

/// Lets the cgroups below `folder` use the controllers that it has. The runtime does the same below
/// a pod's cgroup, before it puts containers there.
fn delegate(folder: &Path) -> Result<(), CgroupError> {
    let control = folder.join("cgroup.subtree_control");
    let (available, on) = (read(&folder.join("cgroup.controllers"))?, read(&control)?);
    let is_in = |text: &str, name: &str| text.split(' ').any(|word| word == name);
    let missing = CONTROLLERS
        .iter()
        .filter(|name| is_in(&available, name) && !is_in(&on, name));
    let missing: Vec<String> = missing.map(|name| format!("+{name}")).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        write(&control, &missing.join(" "))
    }
}

#[cfg(test)]
mod tests;
