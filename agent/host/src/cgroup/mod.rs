//! Control groups of pods: one trait, a driver for each kind of hierarchy, and the kubepods tree.

mod capacity;
mod convert;
mod folder;
mod hierarchies;
mod limits;
mod requests;
mod settings;
mod stray;
mod tree;
mod v1;
mod v2;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use agent_core::{Fail, FailKind};
use base_daemon::Chain;

pub(crate) use capacity::hugepages_name;
pub use capacity::{Amounts, Capacity};
pub use hierarchies::{CgroupVersion, detect, driver};
pub(crate) use requests::pod_requests;
pub use settings::CgroupSettings;
pub use tree::Tree;

/// A cgroup file system, however it is laid out. Names are paths below its root without a leading
/// slash, for instance `kubepods/burstable/pod1`. Every call may be repeated.
pub trait CgroupDriver: Send + Sync + Debug + 'static {
    /// Makes the cgroup and those above it, with the controllers that pods need.
    fn create(&self, name: &str) -> Result<(), CgroupError>;
    /// Writes limits. Those that are `None` stay as they are.
    fn set(&self, name: &str, limits: &Limits) -> Result<(), CgroupError>;
    /// CPU weight of the cgroup in cgroup v1 terms, as near as the kernel keeps it.
    fn cpu_shares(&self, name: &str) -> Result<i64, CgroupError>;
    /// Whether the cgroup is there wherever pods need it.
    fn exists(&self, name: &str) -> bool;
    /// Processes in the cgroup and below it, in any of the hierarchies.
    fn pids(&self, name: &str) -> Result<BTreeSet<i32>, CgroupError>;
    /// Names of the cgroups right below, in any of the hierarchies.
    fn children(&self, name: &str) -> Result<BTreeSet<String>, CgroupError>;
    /// Removes the cgroup and what is left below it. One that is gone is removed.
    fn remove(&self, name: &str) -> Result<(), CgroupError>;
    /// The name in the form that the container runtime takes as a parent.
    fn runtime_name(&self, name: &str) -> String;
}

/// What a cgroup may use. `None` leaves a limit alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// CPU weight in cgroup v1 terms, 2 to 262144; v2 gets it converted.
    pub cpu_shares: Option<i64>,
    /// CPU time.
    pub cpu_quota: Option<Quota>,
    /// Bytes.
    pub memory: Option<u64>,
    /// Processes.
    pub pids: Option<u64>,
    /// Bytes of huge pages by page size in bytes.
    pub hugepages: BTreeMap<u64, u64>,
    /// Writes 0 into `memory.min` and `memory.low` of v2, in case an older setting left something.
    pub no_memory_protection: bool,
}

/// CPU time that may be used in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Microseconds, at least 1000; `None`: no limit.
    pub micros: Option<i64>,
    /// The period, 1 ms to 1 s.
    pub period: Duration,
}

/// What went wrong with cgroups.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// The host has no cgroups that pods could live in.
    #[error(
        "no cgroup hierarchy with the {0} controller is mounted; mount cgroup2 on /sys/fs/cgroup"
    )]
    NotMounted(&'static str),
    /// cgroup v1 with `failCgroupV1: true`.
    #[error("this host runs cgroup v1; move it to cgroup v2, or set failCgroupV1: false")]
    Version1Refused,
    /// The runtime or the configuration wants systemd to own the tree.
    #[error(
        "cgroupDriver systemd needs the systemd driver, which this version does not have; set \
         cgroupDriver: cgroupfs, and SystemdCgroup = false in the container runtime"
    )]
    SystemdDriver,
    /// A driver nobody knows.
    #[error("cgroupDriver {0:?} does not exist, there are cgroupfs and systemd")]
    UnknownDriver(String),
    /// A cgroup that has to be there is not.
    #[error("cgroup {0} does not exist; make it, or take it out of enforceNodeAllocatable")]
    Missing(String),
    /// Processes that outlived the containers of their pod.
    #[error(
        "cgroup {cgroup} is not removed, since processes {pids:?} are still in it; they do not \
         belong to a container, so end them"
    )]
    Busy {
        /// Name of the cgroup.
        cgroup: String,
        /// Their ids.
        pids: BTreeSet<i32>,
    },
    /// The list of mounts cannot be read.
    #[error("the mounts of this host cannot be read")]
    Mounts(#[source] io::Error),
    /// The kernel refuses a value.
    #[error("cgroup: cannot write {value} to {}", path.display())]
    Write {
        /// The value.
        value: String,
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A cgroup file or folder.
    #[error("cgroup: cannot {verb} {}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

impl CgroupError {
    /// The failure of an action. What is written in the configuration stays wrong, everything else
    /// may pass: a child that the runtime still removes, a process that still ends.
    pub(crate) fn fail(&self, reason: &'static str) -> Fail {
        let kind = match self {
            Self::NotMounted(_)
            | Self::Version1Refused
            | Self::SystemdDriver
            | Self::UnknownDriver(_)
            | Self::Missing(_) => FailKind::Permanent,
            Self::Busy { .. } | Self::Mounts(_) | Self::Write { .. } | Self::Io { .. } => {
                FailKind::Retry
            }
        };
        Fail {
            kind,
            reason,
            message: Chain(self).to_string(),
            image: None,
        }
    }
}

/// Failure of one step on one path.
fn failed(verb: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> CgroupError {
    let path = path.into();
    move |source| CgroupError::Io { verb, path, source }
}

#[cfg(test)]
mod tests;
