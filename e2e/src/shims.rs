//! Shims that containerd itself has lost.
//!
//! A client that dies in the middle of a call has the call cancelled, and containerd (2.1.9) may then forget a shim that
//! it was just starting: it removes the bundle and leaves the process. Nobody can stop that one by CRI, so it is no
//! fault of the agent's; it is ended here and told, and only where the agent was killed.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::footprint::Footprint;

/// Ends the shims that have neither a bundle nor a process below them.
pub(crate) fn end_lost(footprint: &Footprint, bundles: &Path) {
    for pid in footprint.processes() {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split('\0');
        let is_shim = words
            .next()
            .is_some_and(|program| program.ends_with("containerd-shim-runc-v2"));
        let id = words
            .skip_while(|word| *word != "-id")
            .nth(1)
            .unwrap_or_default();
        if !is_shim || id.is_empty() || bundles.join(id).exists() || has_children(pid) {
            continue;
        }
        tracing::warn!(
            pid,
            id,
            "containerd has lost this shim when the agent was killed"
        );
        if let Some(pid) = Pid::from_raw(pid) {
            // An error means that it has ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn has_children(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let mut children = threads.map(|thread| fs::read(thread.path().join("children")));
    children.any(|list| list.is_ok_and(|list| !list.is_empty()))
}
