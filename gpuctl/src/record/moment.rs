//! A point in time.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Serialize, Serializer};

/// A point in time, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) i64);

impl Moment {
    /// A time as the agent tells it: 0 means that it is not known.
    pub(crate) fn told(nanoseconds: i64) -> Option<Self> {
        (nanoseconds != 0).then_some(Self(nanoseconds))
    }

    /// Now, on this machine's clock.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(since.map_or(0, |since| {
            i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
        }))
    }

    /// How long ago it was, in one unit, as `kubectl` writes ages: `90s`, `5m`, `3h`, `12d`.
    pub(crate) fn age(self, now: Self) -> String {
        let seconds = now.0.saturating_sub(self.0).max(0) / 1_000_000_000;
        match seconds {
            0..120 => format!("{seconds}s"),
            120..7_200 => format!("{}m", seconds / 60),
            7_200..172_800 => format!("{}h", seconds / 3_600),
            _ => format!("{}d", seconds / 86_400),
        }
    }

    /// Day and time of day, as `journalctl` writes it: `Jul 03 15:04:05`.
    pub(crate) fn clock(self, zone: &TimeZone) -> String {
        self.timestamp()
            .to_zoned(zone.clone())
            .strftime("%b %d %H:%M:%S")
            .to_string()
    }

    fn timestamp(self) -> Timestamp {
        Timestamp::from_nanosecond(i128::from(self.0)).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

/// RFC 3339 in UTC.
impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.timestamp())
    }
}
