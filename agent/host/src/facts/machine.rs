//! The `Machine` port: identity, size and addresses of this host.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_loops::ports::{Machine, MachineFacts};
use async_trait::async_trait;
use rustix::system::uname;

use crate::cgroup::{Capacity, hugepages_name};

/// A name server that does not answer costs no more than this.
const RESOLVE_LIMIT: Duration = Duration::from_secs(2);

/// This host. Facts are those of the cAdvisor library in Kubernetes 1.37, so that a node that changes
/// its agent keeps its identity.
#[derive(Clone, Debug)]
pub struct LocalMachine {
    root_dir: PathBuf,
    asked: Vec<IpAddr>,
    name: Option<String>,
}

impl LocalMachine {
    /// `root_dir` lies on the filesystem whose size is the node's ephemeral storage; `asked` are
    /// addresses to look for on this host; `name` is resolved if it is given.
    pub fn new(root_dir: PathBuf, asked: Vec<IpAddr>, name: Option<String>) -> Self {
        Self {
            root_dir,
            asked,
            name,
        }
    }

    async fn resolved(&self) -> Vec<IpAddr> {
        let Some(name) = &self.name else {
            return Vec::new();
        };
        let lookup = tokio::net::lookup_host((name.as_str(), 0));
        // A name that does not resolve is usual: then the default route decides.
        match tokio::time::timeout(RESOLVE_LIMIT, lookup).await {
            Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
            Ok(Err(_)) | Err(_) => Vec::new(),
        }
    }
}

#[async_trait]
impl Machine for LocalMachine {
    async fn facts(&self) -> Option<MachineFacts> {
        let resolved = self.resolved().await;
        let this = self.clone();
        // Files of /proc and one statvfs, which a dead network filesystem would hold up.
        let read = tokio::task::spawn_blocking(move || this.read(resolved)).await;
        read.ok()
    }
}

impl LocalMachine {
    fn read(&self, resolved: Vec<IpAddr>) -> MachineFacts {
        let capacity = Capacity::of_host();
        let candidates = self.asked.iter().chain(&resolved).copied();
        let local: BTreeSet<IpAddr> = candidates.filter(|address| is_local(*address)).collect();
        MachineFacts {
            machine_id: first_of(&["/etc/machine-id", "/var/lib/dbus/machine-id"]),
            system_uuid: first_of(&[
                "/sys/class/dmi/id/product_uuid",
                "/proc/device-tree/system-id",
                "/proc/device-tree/vm,uuid",
                "/etc/machine-id",
            ]),
            boot_id: first_of(&["/proc/sys/kernel/random/boot_id"]),
            kernel_version: uname().release().to_string_lossy().into_owned(),
            os_image: os_image(),
            operating_system: go_name(std::env::consts::OS),
            architecture: go_name(std::env::consts::ARCH),
            swap: swap(&text("/proc/meminfo").unwrap_or_default()),
            in_user_namespace: in_user_namespace(&text("/proc/self/uid_map").unwrap_or_default()),
            cpus: capacity.cpus,
            memory: capacity.memory,
            hugepages: capacity
                .hugepages
                .iter()
                .map(|(size, bytes)| (hugepages_name(*size), *bytes))
                .collect(),
            ephemeral_storage: rustix::fs::statvfs(&self.root_dir)
                .ok()
                .map(|fs| fs.f_blocks.saturating_mul(fs.f_frsize)),
            routed: [v4_route(), v6_route()].into_iter().flatten().collect(),
            resolved,
            local,
        }
    }
}

fn text(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Content of the first file that can be read, without blanks; device tree texts end with a NUL.
fn first_of(paths: &[&str]) -> String {
    let found = paths.iter().find_map(text).unwrap_or_default();
    found.trim_end_matches('\0').trim().to_owned()
}

fn os_image() -> String {
    let release = text("/etc/os-release").or_else(|| text("/usr/lib/os-release"));
    release.map_or_else(
        || "Unknown".to_owned(),
        |release| pretty_name(&release).unwrap_or_else(|| "Linux".to_owned()),
    )
}

fn pretty_name(release: &str) -> Option<String> {
    let line = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim().trim_matches('"').to_owned())
}

fn swap(meminfo: &str) -> u64 {
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("SwapTotal:"));
    let kibibytes = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0).saturating_mul(1024)
}

/// The first namespace maps all ids to themselves: `0 0 4294967295`.
fn in_user_namespace(uid_map: &str) -> bool {
    let mut lines = uid_map.lines();
    let first: Vec<&str> = lines.next().unwrap_or("").split_whitespace().collect();
    !(first.is_empty() || (first == ["0", "0", "4294967295"] && lines.next().is_none()))
}

/// Go's name of an operating system or architecture, which is what labels and images use.
fn go_name(rust: &'static str) -> &'static str {
    match rust {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Only an address of this host can be bound.
fn is_local(address: IpAddr) -> bool {
    UdpSocket::bind(SocketAddr::new(address, 0)).is_ok()
}

/// Source address of the default route. Connecting a datagram socket asks the kernel for the route and
/// sends nothing; the destinations are from the ranges for documentation (RFC 5737, RFC 3849).
fn v4_route() -> Option<IpAddr> {
    source_of(
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 9)),
    )
}

fn v6_route() -> Option<IpAddr> {
    source_of(
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        SocketAddr::from((Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 9)),
    )
}

fn source_of(from: SocketAddr, to: SocketAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind(from).ok()?;
    socket.connect(to).ok()?;
    let source = socket.local_addr().ok()?.ip();
    (!source.is_unspecified() && !source.is_loopback()).then_some(source)
}

#[cfg(test)]
mod tests;
