//! What the door has to know, and why it cannot be opened.

use std::io;
use std::path::PathBuf;

use crate::cgroup::CgroupError;
use crate::logs::LogLimits;
use crate::user_namespace::UserNamespaceSettings;

/// What the door has to know.
#[derive(Clone, Debug)]
pub struct HostSettings {
    /// `--root-dir`.
    pub root: PathBuf,
    /// `podLogsDir`.
    pub pod_logs: PathBuf,
    /// `resolvConf`; empty: no name service.
    pub resolv_conf: PathBuf,
    /// `clusterDomain`.
    pub cluster_domain: String,
    /// Rotation of container logs.
    pub logs: LogLimits,
    /// IDs for user namespaces of pods.
    pub user_namespaces: UserNamespaceSettings,
}

/// The host cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Folders of the agent.
    #[error("the agent's folders in {root} cannot be made; free space or fix its permissions")]
    Folders {
        /// `--root-dir`.
        root: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// cgroups of pods.
    #[error("the cgroups for pods cannot be made")]
    Cgroups(#[from] CgroupError),
}
