//! Bounded waits on facts: the one way in which a scenario waits.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Between two looks at a fact that nothing announces. Short beside everything waited for (the quickest, a
/// container's start, takes 80 ms), long enough to leave the two cores to the work itself.
const PAUSE: Duration = Duration::from_millis(25);

/// Looks at a fact until `look` answers `Ok`, for at most `limit`. An `Err` means "not yet" and says what is missing.
///
/// # Errors
/// What was still missing at the last look, with `what` was waited for.
pub async fn until<T>(
    what: &str,
    limit: Duration,
    mut look: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let end = Instant::now() + limit;
    loop {
        let missing = match look().await {
            Ok(fact) => return Ok(fact),
            Err(missing) => missing,
        };
        if Instant::now() >= end {
            let seconds = limit.as_secs_f32();
            return Err(missing).with_context(|| format!("waited {seconds:.1} s for {what}"));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
