//! Time as data: nothing in this crate reads a clock, the owner passes `now` in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment, in nanoseconds since the Unix epoch.
///
/// The owner samples the wall clock once and advances it with the monotonic clock, so that a clock
/// that is set back never shortens or undoes a hold time.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// This moment plus `by`, saturating at the end of time.
    pub fn plus(self, by: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(by.as_nanos()).unwrap_or(i64::MAX)),
        )
    }

    /// How long ago `earlier` was; zero when it lies in the future.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}
