//! cgroup v1: one hierarchy for each controller.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::folder::{self, read, write};
use super::{CgroupDriver, CgroupError, Limits, capacity, failed};

/// Those without which a pod's cgroup is not complete, as the stock kubelet sees it.
const NEEDED: &[&str] = &["cpu", "cpuacct", "cpuset", "memory", "pids", "systemd"];

/// Split hierarchies: mount point by controller or name.
#[derive(Debug)]
pub(super) struct Split {
    hierarchies: BTreeMap<String, PathBuf>,
}

impl Split {
    pub(super) fn new(hierarchies: BTreeMap<String, PathBuf>) -> Self {
        Self { hierarchies }
    }

    /// Mount points, each once: `cpu` and `cpuacct` are often one.
    fn roots(&self) -> BTreeSet<&PathBuf> {
        self.hierarchies.values().collect()
    }

    /// A controller that is not mounted limits nothing; those that pods need were looked for when
    /// the driver was chosen.
    fn file(&self, controller: &str, name: &str, file: &str) -> Option<PathBuf> {
        Some(self.hierarchies.get(controller)?.join(name).join(file))
    }

    fn write(
        &self,
        controller: &str,
        name: &str,
        file: &str,
        value: &impl ToString,
    ) -> Result<(), CgroupError> {
        match self.file(controller, name, file) {
            Some(path) => write(&path, &value.to_string()),
            None => Ok(()),
        }
    }
}

impl CgroupDriver for Split {
    fn create(&self, name: &str) -> Result<(), CgroupError> {
        for root in self.roots() {
            let folder = root.join(name);
            fs::create_dir_all(&folder).map_err(failed("make", &folder))?;
        }
        match self.hierarchies.get("cpuset") {
            Some(root) => inherit_cpuset(root, name),
            None => Ok(()),
        }
    }

    fn set(&self, name: &str, limits: &Limits) -> Result<(), CgroupError> {
        if let Some(shares) = limits.cpu_shares {
            self.write("cpu", name, "cpu.shares", &shares)?;
        }
        if let Some(quota) = limits.cpu_quota {
            self.write("cpu", name, "cpu.cfs_period_us", &quota.period.as_micros())?;
            self.write("cpu", name, "cpu.cfs_quota_us", &quota.micros.unwrap_or(-1))?;
        }
        if let Some(bytes) = limits.memory {
            self.write("memory", name, "memory.limit_in_bytes", &bytes)?;
        }
        if let Some(count) = limits.pids {
            self.write("pids", name, "pids.max", &count)?;
        }
        for (size, bytes) in &limits.hugepages {
            let size = capacity::page_size(*size);
            self.write(
                "hugetlb",
                name,
                &format!("hugetlb.{size}.limit_in_bytes"),
                bytes,
            )?;
            // Reservations are counted apart since Linux 5.7.
            let reserved = format!("hugetlb.{size}.rsvd.limit_in_bytes");
            if self
                .file("hugetlb", name, &reserved)
                .is_some_and(|path| path.exists())
            {
                self.write("hugetlb", name, &reserved, bytes)?;
            }
        }
        Ok(())
    }

    fn cpu_shares(&self, name: &str) -> Result<i64, CgroupError> {
        match self.file("cpu", name, "cpu.shares") {
            Some(path) => Ok(read(&path)?.parse().unwrap_or(0)),
            None => Ok(0),
        }
    }

    fn exists(&self, name: &str) -> bool {
        let needed = NEEDED
            .iter()
            .filter_map(|controller| self.hierarchies.get(*controller));
        needed.into_iter().all(|root| root.join(name).is_dir())
    }

    fn pids(&self, name: &str) -> Result<BTreeSet<i32>, CgroupError> {
        let mut pids = BTreeSet::new();
        for root in self.roots() {
            pids.extend(folder::processes(&root.join(name))?);
        }
        Ok(pids)
    }

    fn children(&self, name: &str) -> Result<BTreeSet<String>, CgroupError> {
        let mut children = BTreeSet::new();
        for root in self.roots() {
            children.extend(folder::children(&root.join(name))?);
        }
        Ok(children)
    }

    fn remove(&self, name: &str) -> Result<(), CgroupError> {
        self.roots()
            .into_iter()
            .try_for_each(|root| folder::remove(&root.join(name)))
    }

    fn runtime_name(&self, name: &str) -> String {
        format!("/{name}")
    }
}

/// A fresh cpuset has no CPUs and no memory nodes, and takes no process. It gets its parent's.
fn inherit_cpuset(root: &Path, name: &str) -> Result<(), CgroupError> {
    let mut folder = root.to_owned();
    for part in name.split('/') {
        let parent = folder.clone();
        folder.push(part);
        for file in ["cpuset.cpus", "cpuset.mems"] {
            let own = folder.join(file);
            if read(&own)?.is_empty() {
                write(&own, &read(&parent.join(file))?)?;
            }
        }
    }
    Ok(())
}
