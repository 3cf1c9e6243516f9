#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use super::*;
use crate::want::Check;

fn probe(success_threshold: u32, failure_threshold: u32) -> Probe {
    Probe {
        check: Check::Exec(vec!["true".into()]),
        initial_delay: Duration::ZERO,
        period: Duration::from_secs(10),
        timeout: Duration::from_secs(1),
        success_threshold,
        failure_threshold,
        grace: None,
    }
}

/// Tries as a word of `+` and `-`; answers as a word of `G`ood, `B`ad and `.` for no change.
fn verdicts(mut state: ProbeState, probe: &Probe, tries: &str) -> String {
    tries
        .chars()
        .map(|each| match state.apply(probe, each == '+') {
            Some(true) => 'G',
            Some(false) => 'B',
            None => '.',
        })
        .collect()
}

#[test]
fn thresholds_count_in_a_row() {
    let table = [
        // kind, adopted, success threshold, failure threshold, tries, changes
        (ProbeKind::Liveness, false, 1, 3, "+--+---", "......B"),
        (ProbeKind::Liveness, false, 1, 1, "-+", "BG"),
        (ProbeKind::Readiness, false, 1, 3, "-+---+", ".G..BG"),
        (ProbeKind::Readiness, false, 3, 1, "++-+++", ".....G"),
        (ProbeKind::Readiness, true, 1, 3, "---", "..B"),
        (ProbeKind::Readiness, true, 1, 3, "+", "G"),
        (ProbeKind::Startup, false, 1, 3, "--+", "..G"),
        (ProbeKind::Startup, false, 1, 3, "---", "..B"),
    ];
    for (kind, adopted, good, bad, tries, changes) in table {
        let state = ProbeState::new(kind, adopted);
        assert_eq!(
            verdicts(state, &probe(good, bad), tries),
            changes,
            "{kind:?} {tries}"
        );
    }
}

#[test]
fn before_the_first_try() {
    assert_eq!(
        ProbeState::new(ProbeKind::Liveness, false).verdict(),
        Some(true)
    );
    assert_eq!(
        ProbeState::new(ProbeKind::Readiness, false).verdict(),
        Some(false)
    );
    assert_eq!(ProbeState::new(ProbeKind::Readiness, true).verdict(), None);
    assert_eq!(ProbeState::new(ProbeKind::Startup, false).verdict(), None);
}
