//! A token bucket over time that is an argument.

use std::time::Duration;

use agent_core::Time;

/// So many at once, and then one for each period.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    burst: f64,
    period: Duration,
    left: f64,
    at: Time,
}

impl Budget {
    /// A full one.
    pub(super) fn new(burst: u32, period: Duration, now: Time) -> Self {
        Self {
            burst: f64::from(burst),
            period,
            left: f64::from(burst),
            at: now,
        }
    }

    /// Takes one if there is one.
    pub(super) fn take(&mut self, now: Time) -> bool {
        self.fill(now);
        let there = self.left >= 1.0;
        if there {
            self.left -= 1.0;
        }
        there
    }

    /// Takes one, if need be from the future: how long to wait until it is there.
    pub(super) fn wait(&mut self, now: Time) -> Duration {
        self.fill(now);
        self.left -= 1.0;
        self.period.mul_f64((-self.left).max(0.0))
    }

    fn fill(&mut self, now: Time) {
        let came = now.since(self.at).as_secs_f64() / self.period.as_secs_f64().max(1e-9);
        self.left = (self.left + came).min(self.burst);
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_one_a_period() {
        let minute = Duration::from_secs(60);
        let (start, later) = (Time(0), Time(0).plus(minute));
        let mut budget = Budget::new(2, minute, start);
        let taken: Vec<bool> = (0..3).map(|_| budget.take(start)).collect();
        assert_eq!(taken, [true, true, false]);
        assert!(budget.take(later));
        assert!(!budget.take(later));
        assert_eq!(budget.wait(later), minute);
        assert_eq!(
            budget.wait(later),
            minute * 2,
            "behind the one that waits already"
        );
    }
}
