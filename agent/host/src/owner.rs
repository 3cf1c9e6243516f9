//! Whose a process is, from the cgroup it lives in.

use std::fs;

use agent_core::{ContainerId, PodUid};

/// Pod and container of a process of this host; `None` if it belongs to no pod or has ended.
pub fn owner_of_process(pid: u32) -> Option<(PodUid, ContainerId)> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    text.lines().find_map(owner)
}

/// One line of `/proc/<pid>/cgroup`: hierarchy, controllers, path. The path ends in the pod's cgroup and
/// the container's, in the form of the cgroupfs driver (`.../pod<uid>/<id>`) or of systemd
/// (`...-pod<uid with _>.slice/cri-containerd-<id>.scope`).
fn owner(line: &str) -> Option<(PodUid, ContainerId)> {
    let path = line.splitn(3, ':').nth(2)?;
    let mut parts = path.split('/');
    let uid = parts.by_ref().find_map(pod)?;
    let container = parts.next()?;
    let container = container.strip_suffix(".scope").unwrap_or(container);
    let container = container.rsplit_once('-').map_or(container, |(_, id)| id);
    Some((PodUid::new(uid), ContainerId::new(container)))
}

fn pod(part: &str) -> Option<String> {
    match part.strip_suffix(".slice") {
        Some(slice) => Some(slice.rsplit_once("-pod")?.1.replace('_', "-")),
        None => part
            .strip_prefix("pod")
            .filter(|uid| !uid.is_empty())
            .map(str::to_owned),
    }
}

#[cfg(test)]
mod tests;
