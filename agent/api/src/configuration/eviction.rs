//! When pods have to go because the node runs short.

use std::collections::BTreeMap;

use super::duration::GoDuration;
use super::field::group;

group! {
    /// Thresholds and what happens at them.
    pub struct Eviction {
        /// At these, at once.
        eviction_hard: BTreeMap<String, String> = "evictionHard" (hard_defaults()),
        /// At these, after their grace period.
        eviction_soft: BTreeMap<String, String> = "evictionSoft" (BTreeMap::new()),
        /// The grace periods.
        eviction_soft_grace_period: BTreeMap<String, String> =
            "evictionSoftGracePeriod" (BTreeMap::new()),
        /// How much is freed at least.
        eviction_minimum_reclaim: BTreeMap<String, String> =
            "evictionMinimumReclaim" (BTreeMap::new()),
        /// How long a pressure condition stays after the pressure.
        eviction_pressure_transition_period: GoDuration =
            "evictionPressureTransitionPeriod" (GoDuration::seconds(300), zero),
        /// Longest grace of a pod that a soft threshold evicts.
        eviction_max_pod_grace_period: i32 = "evictionMaxPodGracePeriod" (0),
        /// Thresholds that are not given keep their defaults.
        merge_default_eviction_settings: bool = "mergeDefaultEvictionSettings" (false),
        /// The kernel tells about memory thresholds.
        kernel_memcg_notification: bool = "kernelMemcgNotification" (false),
    }
}

/// Kubernetes' hard thresholds when the configuration has none.
fn hard_defaults() -> BTreeMap<String, String> {
    let table = [
        ("memory.available", "100Mi"),
        ("nodefs.available", "10%"),
        ("nodefs.inodesFree", "5%"),
        ("imagefs.available", "15%"),
        ("imagefs.inodesFree", "5%"),
    ];
    table
        .map(|(signal, value)| (signal.to_owned(), value.to_owned()))
        .into()
}
