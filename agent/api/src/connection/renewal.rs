//! When a certificate is renewed, and when the next try is.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, SystemTime};

use base_daemon::Backoff;

use super::pair::Leaf;

/// Shortest time between two requests: a signer that dates certificates back may give ones that are due
/// when they come (Kubernetes 1.37).
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Longest sleep: the clock may be set, and the machine may have been suspended.
const LONGEST: Duration = Duration::from_secs(3600);

/// Time at 70 to 90 % of the validity; `chance` is 0 to 1 (Kubernetes 1.37). Nodes that joined together
/// do not renew together.
pub(super) fn due(leaf: &Leaf, chance: f64) -> SystemTime {
    let validity = leaf
        .not_after
        .duration_since(leaf.not_before)
        .unwrap_or_default();
    leaf.not_before + validity.mul_f64(0.7 + 0.2 * chance.clamp(0.0, 1.0))
}

/// Between 0 and 1, different at each call and on each node.
pub(super) fn chance() -> f64 {
    // The standard library's hasher is seeded by the system; nothing secret depends on this.
    let bits = RandomState::new().hash_one(0);
    f64::from(u32::try_from(bits >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

/// Delays between tries: 2 s, doubling to 32 s (Kubernetes 1.37).
pub(super) fn tries() -> Backoff {
    Backoff::new(Duration::from_secs(2), Duration::from_secs(32))
}

/// A delay with up to 10 % more, by chance.
pub(super) fn jittered(delay: Duration) -> Duration {
    delay + delay.mul_f64(0.1 * chance())
}

/// Sleeps until then, or a while: the caller looks again.
pub(super) async fn sleep_towards(at: SystemTime) {
    let left = at.duration_since(SystemTime::now()).unwrap_or_default();
    tokio::time::sleep(left.min(LONGEST)).await;
}

/// Name of a certificate file by the time at which it was made, in the stock kubelet's form.
pub(super) fn stamp() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d-%H-%M-%S").to_string()
}

#[cfg(test)]
mod tests;
