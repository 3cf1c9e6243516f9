//! How many calls may run: fewer while the API server cannot take them.

use std::time::Duration;

use base_daemon::Backoff;
use tokio::time::Instant;

use super::call::Answer;

/// Calls side by side. Each takes some milliseconds, so that a hundred a second are far from it.
const WIDTH: usize = 16;
/// First and longest pause of all calls while the server does not answer. Short, because only one
/// call at a time is tried then, and a status that is true should not wait for long.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// One for all pods.
#[derive(Debug)]
pub(super) struct Gate {
    backoff: Backoff,
    /// Failures in a row.
    failures: u32,
    until: Option<Instant>,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self {
            backoff: Backoff::new(PAUSE.0, PAUSE.1),
            failures: 0,
            until: None,
        }
    }

    /// How many calls may run now.
    pub(super) fn width(&self, now: Instant) -> usize {
        match self.until {
            Some(until) if now < until => 0,
            _ if self.failures > 0 => 1,
            _ => WIDTH,
        }
    }

    /// Whether calls are made as they come.
    pub(super) fn is_open(&self) -> bool {
        self.failures == 0
    }

    /// End of the present pause.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Whether the last answer was the first failure.
    pub(super) fn first(&self) -> bool {
        self.failures == 1
    }

    /// Counts an answer. True: the server works again.
    pub(super) fn count(&mut self, answer: &Answer) -> bool {
        let now = Instant::now();
        // Those that were under way together fail together, and lengthen the pause once.
        let pausing = self.until.is_some_and(|until| now < until);
        match answer {
            Answer::Down(_) | Answer::Failed(_) | Answer::Busy { .. } => {
                self.failures = self.failures.saturating_add(1);
                let asked = match answer {
                    Answer::Busy { after } => *after,
                    _ => Duration::ZERO,
                };
                let pause = if pausing {
                    Duration::ZERO
                } else {
                    self.backoff.step()
                };
                self.until = self.until.max(Some(now + pause.max(asked)));
                false
            }
            _ => {
                self.backoff.reset();
                self.until = None;
                std::mem::take(&mut self.failures) > 0
            }
        }
    }
}
