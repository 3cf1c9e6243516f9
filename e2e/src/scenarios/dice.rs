//! Random choices that can be had again: the seed is printed, and `E2E_SEED` sets it.

use std::env;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

/// A small generator (SplitMix64); its numbers need to be various, not unpredictable.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn from_env() -> Result<Dice> {
        let seed = match env::var("E2E_SEED") {
            Ok(text) => text.parse().context("E2E_SEED takes a number")?,
            Err(_) => u64::from(SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos()),
        };
        tracing::info!("E2E_SEED={seed}");
        Ok(Dice(seed))
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// A time below `end`, to the millisecond.
    pub(super) fn moment(&mut self, end: Duration) -> Duration {
        Duration::from_millis(self.below(u64::try_from(end.as_millis()).unwrap_or(u64::MAX)))
    }
}
