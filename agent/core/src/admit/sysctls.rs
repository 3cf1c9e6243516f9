//! Kernel parameters: a pod may set those that are known to be its own, and safe or allowed.

use std::fmt;

use super::Rejection;

/// Kernel parameters of a pod, and the namespaces that it shares with the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodSysctls {
    /// Names as written, with dots or slashes.
    pub names: Vec<String>,
    /// `hostNetwork`.
    pub host_network: bool,
    /// `hostIPC`.
    pub host_ipc: bool,
    /// `hostUsers`, true unless the manifest says false.
    pub host_users: bool,
}

/// Namespace of the kernel that a parameter belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Namespace {
    Ipc,
    Net,
    Uts,
    User,
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipc => "IPC",
            Self::Net => "Net",
            Self::Uts => "UTS",
            Self::User => "User",
        })
    }
}

/// Safe ones: isolated from other pods. With the first kernel that gives each namespace its own.
const SAFE: &[(&str, (u32, u32))] = &[
    ("kernel.shm_rmid_forced", (0, 0)),
    ("net.ipv4.ip_local_port_range", (0, 0)),
    ("net.ipv4.tcp_syncookies", (0, 0)),
    ("net.ipv4.ping_group_range", (0, 0)),
    ("net.ipv4.ip_unprivileged_port_start", (0, 0)),
    ("net.ipv4.ip_local_reserved_ports", (3, 16)),
    ("net.ipv4.tcp_keepalive_time", (4, 5)),
    ("net.ipv4.tcp_fin_timeout", (4, 6)),
    ("net.ipv4.tcp_keepalive_intvl", (4, 5)),
    ("net.ipv4.tcp_keepalive_probes", (4, 5)),
    ("net.ipv4.tcp_rmem", (4, 15)),
    ("net.ipv4.tcp_wmem", (4, 15)),
    ("net.ipv4.tcp_slow_start_after_idle", (4, 15)),
    ("net.ipv4.tcp_notsent_lowat", (4, 6)),
];

/// Single parameters with a namespace; `kernel.shm` and `kernel.msg` are beginnings for patterns.
const NAMES: &[(&str, Namespace)] = &[
    ("kernel.domainname", Namespace::Uts),
    ("kernel.sem", Namespace::Ipc),
    ("kernel.shmall", Namespace::Ipc),
    ("kernel.shmmax", Namespace::Ipc),
    ("kernel.shmmni", Namespace::Ipc),
    ("kernel.shm_rmid_forced", Namespace::Ipc),
    ("kernel.shm", Namespace::Ipc),
    ("kernel.msgmax", Namespace::Ipc),
    ("kernel.msgmnb", Namespace::Ipc),
    ("kernel.msgmni", Namespace::Ipc),
    ("kernel.msg", Namespace::Ipc),
];

/// Whole trees with a namespace.
const TREES: &[(&str, Namespace)] = &[
    ("net.", Namespace::Net),
    ("fs.mqueue.", Namespace::Ipc),
    ("user.", Namespace::User),
];

pub(super) fn check(
    pod: &PodSysctls,
    allowed: &[String],
    kernel: Option<(u32, u32)>,
) -> Result<(), Rejection> {
    for name in &pod.names {
        let name = normal(name);
        let forbidden = |why: String| {
            Rejection::new(
                "SysctlForbidden",
                format!("forbidden sysctl: {name:?} {why}"),
            )
        };
        let namespace = allowance(&name, allowed, kernel)
            .ok_or_else(|| forbidden("not allowlisted".to_owned()))?;
        let shared = match namespace {
            Namespace::Ipc => pod.host_ipc,
            Namespace::Net => pod.host_network,
            Namespace::User => pod.host_users,
            Namespace::Uts => false,
        };
        if shared {
            return Err(forbidden(format!(
                "not allowed with host {namespace} enabled"
            )));
        }
    }
    Ok(())
}

/// Namespace of a parameter that may be set.
fn allowance(name: &str, allowed: &[String], kernel: Option<(u32, u32)>) -> Option<Namespace> {
    let reached = |since: (u32, u32)| since == (0, 0) || kernel.is_some_and(|has| has >= since);
    if SAFE
        .iter()
        .any(|(safe, since)| *safe == name && reached(*since))
    {
        return namespace(name);
    }
    allowed.iter().find_map(|pattern| {
        let pattern = normal(pattern);
        let (stem, matches) = match pattern.split_once('*') {
            Some((stem, _)) => (stem, name.starts_with(stem)),
            None => (pattern.as_str(), name == pattern),
        };
        // A pattern without a namespace is no pattern: it would reach the host.
        matches.then(|| namespace(stem)).flatten()
    })
}

fn namespace(name: &str) -> Option<Namespace> {
    let single = NAMES.iter().find(|(known, _)| *known == name);
    let tree = || TREES.iter().find(|(tree, _)| name.starts_with(tree));
    single.or_else(tree).map(|(_, namespace)| *namespace)
}

/// With dots between the parts: `net/ipv4/conf/eth0.1/x` is `net.ipv4.conf.eth0/1.x`.
fn normal(name: &str) -> String {
    match name.find(['.', '/']) {
        Some(at) if name[at..].starts_with('/') => name
            .chars()
            .map(|c| match c {
                '.' => '/',
                '/' => '.',
                other => other,
            })
            .collect(),
        _ => name.to_owned(),
    }
}
