//! Circuit breaker of one GPU.

use std::time::{Duration, Instant};

use base_daemon::Backoff;

/// First pause after a GPU did not answer.
pub(crate) const FIRST_RETRY: Duration = Duration::from_secs(5);

/// Longest pause. A GPU that comes back is noticed within a minute even if the call that hung never
/// returns.
pub(crate) const LAST_RETRY: Duration = Duration::from_secs(60);

/// Whether a GPU is asked.
///
/// ```text
///          trip              retry_due, trip: the pause doubles
/// closed ────────> open(retry at) ──┐
///   ^                │  ^           │
///   └──── close ─────┘  └───────────┘
/// ```
#[derive(Debug)]
pub(crate) struct Breaker {
    retry_at: Option<Instant>,
    pauses: Backoff,
}

impl Breaker {
    pub(crate) fn closed() -> Self {
        Self {
            retry_at: None,
            pauses: Backoff::new(FIRST_RETRY, LAST_RETRY),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.retry_at.is_some()
    }

    /// When it should be tried again.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// It did not answer. True: it did until now.
    pub(crate) fn trip(&mut self, now: Instant) -> bool {
        let news = !self.is_open();
        self.retry_at = Some(now + self.pauses.step());
        news
    }

    /// It answered. True: it did not before.
    pub(crate) fn close(&mut self) -> bool {
        self.pauses.reset();
        self.retry_at.take().is_some()
    }

    /// Something changed that makes another try worth while at once, such as a new child.
    pub(crate) fn hasten(&mut self, now: Instant) {
        self.retry_at = self.retry_at.map(|_| now);
    }
}

#[cfg(test)]
mod tests;
