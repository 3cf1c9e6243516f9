use std::time::Duration;

use agent_core::Time;
use tokio::time::Instant;

use super::{Clock, FAR};

#[tokio::test(start_paused = true)]
async fn time_goes_on_from_where_the_wall_clock_was_and_timers_fire_on_it() {
    let clock = Clock::showing(Time(5_000_000_000));
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(clock.now(), Time(7_000_000_000));
    let in_three = clock.instant(Time(10_000_000_000));
    assert_eq!(in_three - Instant::now(), Duration::from_secs(3));
    // The past fires at once, the end of time does not overflow.
    assert!(clock.instant(Time(0)) <= Instant::now());
    assert_eq!(
        clock.instant(Time(i64::MAX)) + Duration::from_secs(2),
        Instant::now() + FAR
    );
}
