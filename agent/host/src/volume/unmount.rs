//! Taking a mount away, also one whose server is gone.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::io::{Errno, Result};
use rustix::mount::{UnmountFlags, unmount};
use tracing::warn;

use crate::mounts::Mount;

/// Longest wait for a server (Kubernetes 1.37).
const LONGEST: Duration = Duration::from_secs(60);

/// Unmounts. One of another machine gets a thread of its own, and is forced when that does not end:
/// what the server has not got by then is lost, as in the stock kubelet.
pub(super) fn unmount_one(mount: &Mount) -> Result<()> {
    if !mount.kind.starts_with("nfs") {
        return unmount(&mount.point, UnmountFlags::NOFOLLOW);
    }
    let attempt = |flags: UnmountFlags| {
        let point = mount.point.clone();
        within(LONGEST, move || unmount(&point, flags))
    };
    attempt(UnmountFlags::NOFOLLOW).unwrap_or_else(|| {
        warn!(path = %mount.point.display(), "the server does not answer, unmounting by force");
        let forced = attempt(UnmountFlags::NOFOLLOW | UnmountFlags::FORCE);
        forced.unwrap_or(Err(Errno::TIMEDOUT))
    })
}

/// `None`: it takes longer, and goes on by itself.
fn within(
    limit: Duration,
    work: impl FnOnce() -> Result<()> + Send + 'static,
) -> Option<Result<()>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = sender.send(work());
    });
    receiver.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests;
