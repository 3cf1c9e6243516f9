//! Door to this host: folders, volumes, cgroups, logs and network questions of pods.
//!
//! In: settings, and pods as the loops hand them over. Out: what a pod's sandbox and containers are
//! made from, and answers of probes. Every call may be repeated, also after a crash in the middle.
//!
//! Nothing is removed across a mount point or through a link. No path that a container can write is
//! followed out of the folder it belongs to. Nothing here talks to the container runtime, and
//! nothing decides when a pod starts or ends.

mod asker;
mod cgroup;
mod facts;
mod host;
mod keyring;
mod layout;
mod lock;
mod logs;
mod mounts;
mod owner;
mod pod;
mod process;
#[cfg(test)]
mod testing;
mod user_namespace;
mod volume;

pub use asker::NetworkAsker;
pub use cgroup::{
    Amounts, Capacity, CgroupDriver, CgroupError, CgroupSettings, CgroupVersion, Limits, Quota,
    Tree, detect, driver,
};
pub use facts::{LocalMachine, is_root, node_name};
pub use host::{HostSettings, LocalHost, OpenError};
pub use keyring::{
    KeyringError, KeyringSettings, NodeKeyring, PolicyError, ProviderError, RecordError,
};
pub use lock::{LockError, RootLock};
pub use logs::LogLimits;
pub use owner::owner_of_process;
pub use process::{set_oom_score, set_open_files};
pub use user_namespace::UserNamespaceSettings;
