//! Time for the books: the wall clock once, then the monotonic one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gpu_model::Time;
use tokio::time::Instant;

/// A clock that is never set back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    wall: Time,
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            wall: Time(0).plus(since),
            start: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.wall.plus(self.start.elapsed())
    }

    /// When it will be `time`; now, if that is past.
    pub(crate) fn instant(&self, time: Time) -> Instant {
        Instant::now() + time.since(self.now())
    }
}

/// In `delay` from now.
pub(crate) fn after(delay: Duration) -> Instant {
    Instant::now() + delay
}
