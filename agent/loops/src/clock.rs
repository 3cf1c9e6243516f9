//! The one clock of the loops: wall time sampled once, advanced by the monotonic clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agent_core::Time;
use tokio::time::Instant;

/// Timers further away than this are as good as never, and adding more could overflow.
const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);

/// Gives `core` its time. A wall clock that is set back never moves decisions backwards.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Time,
    base: Instant,
}

impl Clock {
    /// A clock that shows the machine's wall time now.
    pub fn system() -> Self {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self::showing(Time::default().plus(since_epoch))
    }

    /// A clock that shows `wall` now.
    pub fn showing(wall: Time) -> Self {
        Self {
            wall,
            base: Instant::now(),
        }
    }

    /// The present moment.
    pub fn now(&self) -> Time {
        self.wall.plus(self.base.elapsed())
    }

    /// When a timer for `time` has to fire.
    pub fn instant(&self, time: Time) -> Instant {
        self.base + time.since(self.wall).min(FAR)
    }
}

#[cfg(test)]
mod tests;
