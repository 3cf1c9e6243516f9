//! Doubling delays between tries.

use std::time::Duration;

/// Delays that double from a base to a cap. Deterministic: callers that want jitter add it.
#[derive(Clone, Debug)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
    next: Duration,
}

impl Backoff {
    /// First delay and longest delay.
    pub fn new(base: Duration, cap: Duration) -> Self {
        Self {
            base,
            cap,
            next: base,
        }
    }

    /// The delay to keep now; the one after will be twice as long, up to the cap.
    pub fn step(&mut self) -> Duration {
        let delay = self.next.min(self.cap);
        self.next = delay.saturating_mul(2).min(self.cap);
        delay
    }

    /// It worked: the next delay is the base again.
    pub fn reset(&mut self) {
        self.next = self.base;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_to_the_cap_and_starts_again() {
        let seconds = Duration::from_secs;
        let mut backoff = Backoff::new(seconds(1), seconds(5));
        let delays: Vec<_> = (0..5).map(|_| backoff.step().as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!(backoff.step(), seconds(1));
    }
}
