//! Processes that outlived the containers of their pod.
//!
//! A runtime whose client died in the middle of a call can lose track of a process it has just
//! started. Such a process is nobody's: the stock kubelet kills whatever is in a pod's cgroup before it
//! removes it (Kubernetes 1.37, pod container manager), and so does this.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Time for killed processes to end; one that sleeps in the kernel takes longer, and then the removal
/// is tried again later.
const PATIENCE: Duration = Duration::from_secs(1);

/// Kills the processes that `inside` lists and waits until they have ended, or until patience ends.
/// A number that was given to another process meanwhile is not touched: only what is inside after its
/// handle was opened is killed.
pub(super) fn kill<E>(inside: impl Fn() -> Result<BTreeSet<i32>, E>) -> Result<(), E> {
    let handles: Vec<(i32, OwnedFd)> = inside()?
        .into_iter()
        .filter_map(|pid| {
            Some((
                pid,
                pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?,
            ))
        })
        .collect();
    let still = inside()?;
    for (pid, handle) in handles.iter().filter(|(pid, _)| still.contains(pid)) {
        tracing::warn!(
            pid,
            "a process outlived the containers of its pod and is killed"
        );
        // An error means that it has ended by itself.
        let _ = pidfd_send_signal(handle, Signal::KILL);
        wait(handle);
    }
    Ok(())
}

/// A handle can be read once its process has ended.
fn wait(handle: &OwnedFd) {
    let limit = Timespec {
        tv_sec: PATIENCE.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    // A signal may end the wait early; then the caller finds the process still inside and comes back.
    let _ = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&limit));
}
