//! How often a pull may begin.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// A bucket of turns that fills steadily. Who finds it empty waits: the stock kubelet fails the pull
/// instead, which then costs ten seconds of back-off for nothing.
#[derive(Debug)]
pub(super) struct Rate {
    /// Time between two turns.
    gap: Duration,
    burst: u32,
    // A plain lock: held for one sum. When the bucket would be full again if nobody came.
    full_at: Mutex<Option<Instant>>,
}

impl Rate {
    /// `None`: no limit.
    pub(super) fn new(per_second: u32, burst: u32) -> Option<Self> {
        let gap = Duration::from_secs(1).checked_div(per_second)?;
        Some(Self {
            gap,
            burst: burst.max(1),
            full_at: Mutex::default(),
        })
    }

    /// Waits for a turn. A turn that was waited for in vain is used up.
    pub(super) async fn turn(&self) {
        if let Some(at) = self.book(Instant::now()) {
            sleep_until(at).await;
        }
    }

    /// Books a turn; when it is, if it is not now.
    fn book(&self, now: Instant) -> Option<Instant> {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let full = full_at.unwrap_or(now).max(now) + self.gap;
        *full_at = Some(full);
        let at = full.checked_sub(self.gap.saturating_mul(self.burst))?;
        (at > now).then_some(at)
    }
}

#[cfg(test)]
mod tests;
