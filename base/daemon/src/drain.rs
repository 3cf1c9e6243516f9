//! The way down: everybody hears that it is time to end, and the end is waited for.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Asks all holders of a [`DrainGuard`] to end and waits for them. Clones are the same drain.
#[derive(Clone, Debug, Default)]
pub struct Drain {
    token: CancellationToken,
    tracker: TaskTracker,
}

/// Held by a task as long as it has something to finish.
#[derive(Debug)]
pub struct DrainGuard {
    token: CancellationToken,
    _tracked: TaskTrackerToken,
}

impl Drain {
    /// A guard for one more task. The drain waits until it is dropped.
    pub fn guard(&self) -> DrainGuard {
        DrainGuard {
            token: self.token.clone(),
            _tracked: self.tracker.token(),
        }
    }

    /// Begins the drain without waiting.
    pub fn begin(&self) {
        self.token.cancel();
        self.tracker.close();
    }

    /// Begins the drain and waits until all guards are dropped, at most `limit`.
    /// False: some did not end in time.
    pub async fn finish(&self, limit: Duration) -> bool {
        self.begin();
        tokio::time::timeout(limit, self.tracker.wait())
            .await
            .is_ok()
    }
}

impl DrainGuard {
    /// Resolves when it is time to end. Safe to cancel: it may be awaited again.
    pub async fn ending(&self) {
        self.token.cancelled().await;
    }

    /// It is time to end.
    pub fn is_ending(&self) -> bool {
        self.token.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_for_guards_but_not_for_ever() {
        let drain = Drain::default();
        let (first, second) = (drain.guard(), drain.guard());
        let task = crate::spawn("first", async move { first.ending().await });
        assert!(
            !drain.finish(Duration::from_secs(1)).await,
            "a guard is still held"
        );
        task.await.unwrap().unwrap();
        drop(second);
        assert!(drain.finish(Duration::from_secs(1)).await);
    }
}
