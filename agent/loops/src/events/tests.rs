#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use agent_core::Time;

use super::{EventLog, KEPT, SAME, Subject};
use crate::clock::Clock;

fn log() -> EventLog {
    EventLog::new(Clock::showing(Time(1_000_000_000)))
}

#[tokio::test(start_paused = true)]
async fn repeats_are_counted_and_move_to_the_end() {
    let log = log();
    log.warning(Subject::Node, "Broken", "disk");
    log.normal(Subject::Node, "Fine", "memory");
    tokio::time::advance(Duration::from_secs(5)).await;
    log.warning(Subject::Node, "Broken", "disk");
    let (kept, _) = log.subscribe();
    let shown: Vec<_> = kept
        .iter()
        .map(|event| (event.message.as_str(), event.count))
        .collect();
    assert_eq!(shown, [("memory", 1), ("disk", 2)]);
    let last = kept.last().unwrap();
    assert_eq!(last.time.since(last.first), Duration::from_secs(5));
    tokio::time::advance(SAME).await;
    log.warning(Subject::Node, "Broken", "disk");
    assert_eq!(
        log.subscribe().0.len(),
        3,
        "an old event must not swallow a new one"
    );
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_sees_every_event_once_and_the_ring_is_bounded() {
    let log = log();
    for number in 0..KEPT + 10 {
        log.normal(Subject::Node, "Number", number.to_string());
    }
    let (kept, mut live) = log.subscribe();
    assert_eq!(
        (kept.len(), kept.first().unwrap().message.as_str()),
        (KEPT, "10")
    );
    log.normal(Subject::Node, "Number", "live");
    assert_eq!(live.try_recv().unwrap().message, "live");
    assert!(live.try_recv().is_err());
}
