//! Waiting for a change of the state.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

/// Tells when files of a state directory change. Make it first, look at the state then: so no change
/// is missed.
#[derive(Debug)]
pub(crate) struct Watch {
    /// `None` when the machine is out of inotify instances.
    inotify: Option<OwnedFd>,
}

/// Without inotify the state is looked at this often; a call that hangs is in no hurry.
const WITHOUT_INOTIFY: Duration = Duration::from_millis(20);

impl Watch {
    /// Watches a directory.
    pub(crate) fn on(dir: &Path) -> Self {
        Self {
            inotify: subscribe(dir).ok(),
        }
    }

    /// Returns after a change of the directory or after the timeout, sometimes earlier.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        let timeout = match &self.inotify {
            Some(_) => timeout,
            None => Some(timeout.unwrap_or(WITHOUT_INOTIFY).min(WITHOUT_INOTIFY)),
        };
        let timeout = timeout.and_then(|duration| Timespec::try_from(duration).ok());
        let sources = self
            .inotify
            .iter()
            .map(|inotify| PollFd::new(inotify, PollFlags::IN));
        let changed = poll(&mut sources.collect::<Vec<_>>(), timeout.as_ref());
        if let (Some(inotify), Ok(1..)) = (&self.inotify, changed) {
            let mut events = [MaybeUninit::<u8>::uninit(); 4096];
            while rustix::io::read(inotify, &mut events).is_ok_and(|(read, _)| !read.is_empty()) {}
        }
    }
}

fn subscribe(dir: &Path) -> io::Result<OwnedFd> {
    let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let changes = WatchFlags::MOVED_TO | WatchFlags::DELETE | WatchFlags::CLOSE_WRITE;
    add_watch(&inotify, dir, changes | WatchFlags::DELETE_SELF)?;
    Ok(inotify)
}
