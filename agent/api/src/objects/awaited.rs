//! A state that a task changes and others wait for, though not for long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

/// Longest wait for a first read. Kubernetes 1.37: a second as well, then the pod's sync fails and is
/// tried again.
pub(super) const FIRST_READ: Duration = Duration::from_secs(1);

/// A state with one writer. Remembers whether somebody went away without an answer, since only then
/// the first answer is news.
#[derive(Debug)]
pub(super) struct Awaited<S> {
    state: watch::Sender<S>,
    missed: AtomicBool,
}

impl<S> Awaited<S> {
    pub(super) fn new(state: S) -> Self {
        Self {
            state: watch::Sender::new(state),
            missed: AtomicBool::new(false),
        }
    }

    /// Waits until the state is `ready`, at most [`FIRST_READ`]; not at all when somebody has waited in vain
    /// before, since then the answer will be news. Safe to cancel, though whoever is cancelled is not
    /// remembered.
    pub(super) async fn settle(&self, ready: impl Fn(&S) -> bool) {
        if self.missed.load(Ordering::SeqCst) {
            return;
        }
        let mut receiver = self.state.subscribe();
        let settled = receiver.wait_for(|state| ready(state));
        if tokio::time::timeout(FIRST_READ, settled).await.is_err() {
            self.missed.store(true, Ordering::SeqCst);
        }
    }

    /// Looks at the state.
    pub(super) fn look<R>(&self, look: impl FnOnce(&S) -> R) -> R {
        look(&self.state.borrow())
    }

    /// Changes the state. What the closure gives says whether it is another one now.
    pub(super) fn change(&self, change: impl FnOnce(&mut S) -> bool) -> bool {
        self.state.send_if_modified(change)
    }

    /// Whether somebody waited in vain since the last call.
    pub(super) fn take_missed(&self) -> bool {
        self.missed.swap(false, Ordering::SeqCst)
    }

    /// The state as it changes.
    pub(super) fn subscribe(&self) -> watch::Receiver<S> {
        self.state.subscribe()
    }
}
