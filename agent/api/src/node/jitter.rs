//! Chance, so that the nodes of a cluster do not all come at the same moment.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// A number from 0 up to 1. Spreading load needs no better chance than the seed that the standard
/// library gives each of its hash maps.
pub(crate) fn chance() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 32;
    f64::from(u32::try_from(bits).unwrap_or(0)) / (f64::from(u32::MAX) + 1.0)
}

/// `period` and up to 4 % more, never less (Kubernetes 1.37, status and lease loop).
pub(crate) fn stretched(period: Duration) -> Duration {
    period.mul_f64(1.0 + 0.04 * chance())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_stretched_but_never_shortened() {
        let second = Duration::from_secs(1);
        let all: Vec<Duration> = (0..100).map(|_| stretched(second)).collect();
        let within = |time: &Duration| *time >= second && *time <= Duration::from_millis(1040);
        assert!(all.iter().all(within));
        assert!(
            all.iter().any(|time| *time != all[0]),
            "chance gives different numbers"
        );
    }
}
