//! CPU weight between the scales of cgroup v1 and v2, as the stock kubelet 1.37 converts it for the
//! cgroups that it makes itself.
//!
//! Container runtimes have moved to a quadratic formula for containers (opencontainers/cgroups 0.0.3,
//! KEP-2254: 1024 shares are weight 100). Pods keep the linear one, in which 1024 shares are weight
//! 39: the weights of pods count against each other only, and a node that is taken over has pods of
//! both agents side by side. The kubelet's node tests expect it on `kubepods`, too.

/// Least weight in the v1 scale.
pub(super) const MIN_SHARES: i64 = 2;
const MAX_SHARES: i64 = 262_144;

/// v2 weight, 1 to 10000, for shares of 2 to 262144.
pub(super) fn weight(shares: i64) -> i64 {
    1 + (shares.clamp(MIN_SHARES, MAX_SHARES) - MIN_SHARES) * 9999 / (MAX_SHARES - MIN_SHARES)
}

/// Least shares that have this v2 weight. One step of the weight is 26 shares, so this is that near.
pub(super) fn shares(weight: i64) -> i64 {
    ((weight.clamp(1, 10_000) - 1) * (MAX_SHARES - MIN_SHARES) + 9998) / 9999 + MIN_SHARES
}
