//! Which cgroup hierarchies the host has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CgroupDriver, CgroupError, v1, v2};
use crate::mounts::{self, Mount};

/// Hierarchies of cgroup v1 that container runtimes make cgroups in; `systemd` is a named one
/// without a controller.
const SPLIT: &[&str] = &[
    "blkio",
    "cpu",
    "cpuacct",
    "cpuset",
    "devices",
    "freezer",
    "hugetlb",
    "memory",
    "misc",
    "net_cls",
    "net_prio",
    "perf_event",
    "pids",
    "rdma",
    "systemd",
];

/// Without these no pod can be limited.
pub(super) const NEEDED: [&str; 3] = ["cpu", "memory", "pids"];

/// Kind of hierarchy that pods live in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgroupVersion {
    /// One hierarchy for all controllers.
    V2 {
        /// Where it is mounted.
        root: PathBuf,
    },
    /// A hierarchy for each controller, with the named one of systemd and the one of v2 on hybrid
    /// hosts among them: a runtime makes cgroups in all of them, so all have to be cleaned.
    V1 {
        /// Mount point by controller; `systemd` and `unified` for those without one.
        hierarchies: BTreeMap<String, PathBuf>,
    },
}

/// Looks at the mounts of this host.
pub fn detect() -> Result<CgroupVersion, CgroupError> {
    from_mounts(&mounts::all().map_err(CgroupError::Mounts)?)
}

/// Version 2 is what is mounted on `/sys/fs/cgroup`: a v1 controller mounted beside it, as some
/// programs do for themselves, changes nothing.
fn from_mounts(mounts: &[Mount]) -> Result<CgroupVersion, CgroupError> {
    let unified =
        |mount: &&Mount| mount.kind == "cgroup2" && mount.point == Path::new("/sys/fs/cgroup");
    if let Some(mount) = mounts.iter().find(unified) {
        return Ok(CgroupVersion::V2 {
            root: mount.point.clone(),
        });
    }
    let mut hierarchies: BTreeMap<String, PathBuf> = BTreeMap::new();
    for mount in mounts.iter().filter(|mount| !mount.read_only) {
        let names: Vec<&str> = match mount.kind.as_str() {
            "cgroup" => mount.options.split(',').collect(),
            "cgroup2" => vec!["unified"],
            _ => continue,
        };
        for name in names {
            let name = name.strip_prefix("name=").unwrap_or(name);
            if SPLIT.contains(&name) || name == "unified" {
                // The same hierarchy can be mounted in several places.
                hierarchies
                    .entry(name.to_owned())
                    .or_insert_with(|| mount.point.clone());
            }
        }
    }
    match NEEDED
        .iter()
        .find(|needed| !hierarchies.contains_key(**needed))
    {
        Some(missing) => Err(CgroupError::NotMounted(missing)),
        None => Ok(CgroupVersion::V1 { hierarchies }),
    }
}

/// The driver called `name` for this host. `fail_v1`: refuse cgroup v1 (`failCgroupV1`).
pub fn driver(
    name: &str,
    version: CgroupVersion,
    fail_v1: bool,
) -> Result<Arc<dyn CgroupDriver>, CgroupError> {
    match name {
        "cgroupfs" => {}
        "systemd" => return Err(CgroupError::SystemdDriver),
        other => return Err(CgroupError::UnknownDriver(other.to_owned())),
    }
    match version {
        CgroupVersion::V2 { root } => Ok(Arc::new(v2::Unified::open(root)?)),
        CgroupVersion::V1 { .. } if fail_v1 => Err(CgroupError::Version1Refused),
        CgroupVersion::V1 { hierarchies } => Ok(Arc::new(v1::Split::new(hierarchies))),
    }
}

#[cfg(test)]
mod tests;
