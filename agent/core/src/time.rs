//! Time as data. Decisions never read a clock; the shell passes `now` in.

use std::time::Duration;

/// A moment, in nanoseconds since the Unix epoch.
///
/// The shell samples the wall clock once at start and advances it with the monotonic clock, so a
/// clock that is set back never moves decisions backwards, and the runtime's own timestamps stay
/// comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
