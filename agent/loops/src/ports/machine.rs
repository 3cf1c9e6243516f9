//! The machine below the node, for the node's status.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use async_trait::async_trait;

/// Door to what this host is. Read anew each time: huge pages, swap and addresses change while it runs.
#[async_trait]
pub trait Machine: Send + Sync + std::fmt::Debug + 'static {
    /// What the host is now. A figure that cannot be read is empty or 0; `None` when nothing could be
    /// read, so that what was known stays.
    async fn facts(&self) -> Option<MachineFacts>;
}

/// What a host is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// Content of `/etc/machine-id`.
    pub machine_id: String,
    /// Identity of the hardware, from DMI.
    pub system_uuid: String,
    /// Changes with every boot.
    pub boot_id: String,
    /// `uname -r`.
    pub kernel_version: String,
    /// `PRETTY_NAME` of the operating system.
    pub os_image: String,
    /// Operating system in Go's words: `linux`.
    pub operating_system: &'static str,
    /// Architecture in Go's words: `amd64`, `arm64`.
    pub architecture: &'static str,
    /// Bytes of swap; 0 without.
    pub swap: u64,
    /// This process is root only in a user namespace.
    pub in_user_namespace: bool,
    /// CPUs.
    pub cpus: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of huge pages by resource name, for instance `hugepages-2Mi`.
    pub hugepages: BTreeMap<String, u64>,
    /// Bytes of the filesystem below the root directory of the agent; `None` if it does not answer.
    pub ephemeral_storage: Option<u64>,
    /// Addresses that the node's name resolves to.
    pub resolved: Vec<IpAddr>,
    /// Source addresses of the default routes, at most one of each family, IPv4 first.
    pub routed: Vec<IpAddr>,
    /// Those of `resolved` and of the configured addresses that belong to this host.
    pub local: BTreeSet<IpAddr>,
}
