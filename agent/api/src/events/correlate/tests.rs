#![allow(clippy::unwrap_used)]

use k8s_openapi::api::core::v1::ObjectReference;

use super::*;

fn event(pod: &str, reason: &str, message: &str, name: &str) -> Event {
    let mut event = Event {
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        type_: Some("Normal".to_owned()),
        involved_object: ObjectReference {
            kind: Some("Pod".to_owned()),
            name: Some(pod.to_owned()),
            ..ObjectReference::default()
        },
        ..Event::default()
    };
    event.metadata.name = Some(name.to_owned());
    event
}

fn at(seconds: u64) -> Time {
    Time(1).plus(Duration::from_secs(seconds))
}

/// Verdict, name, count and message in one line.
fn line(verdict: &Verdict) -> String {
    let (word, event) = match verdict {
        Verdict::Create(event) => ("create", event),
        Verdict::Count(event) => ("count", event),
        Verdict::Drop => return "drop".to_owned(),
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (name, message) = (text(&event.metadata.name), text(&event.message));
    format!("{word} {name} {} {message}", event.count.unwrap_or(0))
}

#[test]
fn an_equal_event_is_counted() {
    let mut correlator = Correlator::new();
    let mut judge = |name: &str, message: &str, seconds| {
        line(&correlator.judge(event("p", "Pulled", message, name), 1, at(seconds)))
    };
    assert_eq!(judge("1", "a", 0), "create 1 1 a");
    assert_eq!(judge("2", "a", 1), "count 1 2 a");
    assert_eq!(judge("3", "b", 2), "create 3 1 b");
    assert_eq!(judge("4", "a", 3), "count 1 3 a");
}

#[test]
fn what_happened_before_counts_at_once() {
    let mut correlator = Correlator::new();
    let verdict = correlator.judge(event("p", "Pulled", "a", "1"), 5, at(0));
    assert_eq!(line(&verdict), "create 1 5 a");
    let verdict = correlator.judge(event("p", "Pulled", "a", "2"), 1, at(1));
    assert_eq!(line(&verdict), "count 1 6 a");
}

#[test]
fn the_tenth_similar_one_is_combined() {
    let mut correlator = Correlator::new();
    let mut judge = |number: u64, seconds| {
        let (message, name) = (format!("try {number}"), format!("e{number}"));
        line(&correlator.judge(event("p", "Failed", &message, &name), 1, at(seconds)))
    };
    for number in 1..10 {
        assert_eq!(
            judge(number, number),
            format!("create e{number} 1 try {number}")
        );
    }
    assert_eq!(
        judge(10, 10),
        "create e10 1 (combined from similar events): try 10"
    );
    assert_eq!(
        judge(11, 11),
        "count e10 2 (combined from similar events): try 11"
    );
    assert_eq!(
        judge(12, 700),
        "create e12 1 try 12",
        "ten minutes without one begin anew"
    );
}

#[test]
fn one_object_gets_25_and_then_one_in_five_minutes() {
    let mut correlator = Correlator::new();
    let mut judge = |pod: &str, reason: &str, seconds| {
        let verdict = correlator.judge(event(pod, reason, "same", reason), 1, at(seconds));
        verdict != Verdict::Drop
    };
    let written = (0..40)
        .filter(|number| judge("p", &format!("R{number}"), 0))
        .count();
    assert_eq!(written, 25);
    assert!(judge("other", "R", 0), "another object has its own");
    assert!(!judge("p", "R", 299));
    assert!(judge("p", "R", 300));
}
