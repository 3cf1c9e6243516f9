#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use agent_core::Time;

use super::{Area, ProblemBoard};
use crate::clock::Clock;
use crate::events::EventLog;

fn pair(subject: &str, message: &str) -> (String, String) {
    (subject.to_owned(), message.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_problem_keeps_its_age_and_goes_when_it_is_no_longer_named() {
    let clock = Clock::showing(Time(0));
    let events = EventLog::new(clock);
    let board = ProblemBoard::new(clock, events.clone());
    let mut watch = board.subscribe();
    board.replace(Area::Source("file"), vec![pair("a.yaml", "broken")]);
    tokio::time::advance(Duration::from_secs(1)).await;
    board.replace(Area::Runtime, vec![pair("socket", "closed")]);
    board.replace(
        Area::Source("file"),
        vec![pair("a.yaml", "broken"), pair("b.yaml", "empty")],
    );
    let shown = watch.borrow_and_update().clone();
    let ages: Vec<_> = shown[&Area::Source("file")]
        .iter()
        .map(|problem| problem.since.0)
        .collect();
    assert_eq!(ages, [0, 1_000_000_000]);
    board.replace(Area::Runtime, vec![pair("socket", "closed")]);
    assert!(
        !watch.has_changed().unwrap(),
        "nothing changed, so nobody is woken"
    );
    board.replace(Area::Source("file"), Vec::new());
    let shown = watch.borrow_and_update().clone();
    assert_eq!(shown.keys().collect::<Vec<_>>(), [&Area::Runtime]);
    let told: Vec<_> = events
        .subscribe()
        .0
        .iter()
        .map(|event| format!("{}: {}", event.subject, event.message))
        .collect();
    assert_eq!(
        told,
        [
            "a.yaml: broken",
            "socket: closed",
            "b.yaml: empty",
            "a.yaml: it is well again",
            "b.yaml: it is well again"
        ]
    );
}
