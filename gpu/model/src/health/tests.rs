#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::time::Duration;

use super::{
    Cause, Clearing, HOLD_TIME, HOLD_TIME_LIMIT, HealthBook, HealthChange, HealthEvent,
    HealthState, RELAPSE_TIME, Remedy,
};
use crate::blame::Target;
use crate::facts::FabricFacts;
use crate::fixtures::uuid;
use crate::ids::GpuUuid;
use crate::inventory::Presence;
use crate::reading::{Reading, RecoveryAction, RemappedRows};
use crate::time::Time;

/// A book with a clock in seconds and one GPU that matters.
struct Story {
    book: HealthBook,
    seconds: u64,
}

impl Story {
    fn new() -> Self {
        let mut story = Self {
            book: HealthBook::default(),
            seconds: 0,
        };
        story.read(&good());
        story
    }

    fn apply(&mut self, event: HealthEvent<'_>) -> Vec<HealthChange> {
        let (book, changes) = std::mem::take(&mut self.book).apply(event, self.now());
        self.book = book;
        changes
    }

    fn now(&self) -> Time {
        Time(0).plus(Duration::from_secs(self.seconds))
    }

    fn wait(&mut self, seconds: u64) -> &mut Self {
        self.seconds += seconds;
        self
    }

    fn read(&mut self, reading: &Reading) -> Vec<HealthChange> {
        self.apply(HealthEvent::Reading(&gpu(), reading))
    }

    fn xid(&mut self, code: u32) -> Vec<HealthChange> {
        self.apply(HealthEvent::Xid(Target::gpu(gpu()), code))
    }

    fn state(&self) -> HealthState {
        self.book.state(&gpu())
    }

    fn causes(&self) -> Vec<Cause> {
        self.book
            .findings(&gpu())
            .iter()
            .map(|finding| finding.cause)
            .collect()
    }

    /// Kill -9 and a new agent: only what is written down comes along.
    fn restart(&mut self) {
        let written = serde_json::to_string(&self.book).unwrap();
        self.book = serde_json::from_str(&written).unwrap();
    }
}

fn gpu() -> GpuUuid {
    uuid(0)
}

fn good() -> Reading {
    reading(Some(RecoveryAction::None), 0)
}

fn reading(recovery: Option<RecoveryAction>, uncorrected: u64) -> Reading {
    Reading {
        recovery,
        ecc_uncorrected: Some(uncorrected),
        ecc_corrected: Some(7),
        remapped: Some(RemappedRows::default()),
        ..Reading::default()
    }
}

#[test]
fn each_xid_has_its_verdict_whatever_field_230_says() {
    use HealthState::{Degraded, Healthy, Unhealthy};
    for (codes, verdict) in [
        (&[13, 31, 43, 94, 63][..], Healthy),
        (&[999, 74, 4711], Degraded),
        (&[46, 48, 79, 95, 109], Unhealthy),
    ] {
        for code in codes {
            for recovery in [None, Some(RecoveryAction::None)] {
                let mut story = Story::new();
                story.xid(*code);
                story.wait(1).read(&reading(recovery, 0));
                assert_eq!(story.state(), verdict, "XID {code}, field 230 {recovery:?}");
            }
            let mut story = Story::new();
            story.xid(*code);
            story.read(&reading(Some(RecoveryAction::GpuReset), 0));
            assert_eq!(
                story.state(),
                Unhealthy,
                "XID {code}, driver asks for a reset"
            );
            assert!(story.book.remedy(&gpu()) >= Remedy::Reset);
        }
    }
}

#[test]
fn a_harmless_xid_never_overwrites_a_severe_one() {
    let mut story = Story::new();
    story.xid(95);
    assert!(matches!(story.xid(31)[..], [HealthChange::Noticed(..)]));
    story.xid(999);
    assert_eq!(
        (story.state(), story.causes().len()),
        (HealthState::Unhealthy, 2)
    );
    assert_eq!(story.book.remedy(&gpu()), Remedy::Reset);
    // Random numbers are one cause.
    for code in 5000..5100 {
        story.xid(code);
    }
    assert_eq!(story.causes(), [Cause::Xid(95), Cause::UnknownXid]);
    assert_eq!(story.book.findings(&gpu())[1].count, 101);
}

#[test]
fn clean_answers_alone_never_clear_a_fatal_xid() {
    let mut story = Story::new();
    story.xid(95);
    for _ in 0..100 {
        story.wait(60).read(&good());
    }
    story.restart();
    story.wait(60).read(&good());
    assert_eq!(story.state(), HealthState::Unhealthy);
    assert_eq!(story.book.next_hold_end(Time(0)), None);
}

#[test]
fn every_proof_clears_a_fatal_xid_after_the_hold_time() {
    type Proof = fn(&mut Story);
    let proofs: [(&str, Proof); 6] = [
        (
            "the recovery that was asked for is asked for no longer",
            |story| {
                story.read(&reading(Some(RecoveryAction::GpuReset), 0));
                story.restart();
                story.wait(1).read(&good());
            },
        ),
        ("boot or driver reload", |story| {
            story.apply(HealthEvent::Restarted);
        }),
        ("error counters went down", |story| {
            story.read(&reading(None, 3));
            story.wait(1).read(&reading(None, 0));
        }),
        ("lost, then back", |story| {
            story.apply(HealthEvent::Lost(&gpu(), 15));
            assert_eq!(story.book.remedy(&gpu()), Remedy::Reboot);
            story.wait(1).read(&good());
        }),
        ("reset required, then not", |story| {
            story.apply(HealthEvent::Lost(&gpu(), 16));
            story.wait(1).read(&good());
        }),
        ("gone from the bus, then back", |story| {
            story.apply(HealthEvent::Scanned(&gpu(), &Presence::Missing, None));
            story
                .wait(1)
                .apply(HealthEvent::Scanned(&gpu(), &Presence::Present, None));
        }),
    ];
    for (name, proof) in proofs {
        let mut story = Story::new();
        story.xid(95);
        story.wait(10);
        proof(&mut story);
        assert_eq!(
            story.state(),
            HealthState::Unhealthy,
            "{name}: cleared at once"
        );
        story.wait(59).read(&good());
        assert_eq!(
            story.state(),
            HealthState::Unhealthy,
            "{name}: cleared early"
        );
        story.wait(1);
        assert_eq!(
            story.state(),
            HealthState::Unhealthy,
            "{name}: cleared without a reading"
        );
        story.read(&good());
        assert_eq!(
            (story.state(), story.causes()),
            (HealthState::Healthy, vec![]),
            "{name}"
        );
    }
}

#[test]
fn other_failures_of_calls_prove_no_reset() {
    let mut story = Story::new();
    story.xid(95);
    story.apply(HealthEvent::Lost(&gpu(), 999));
    for _ in 0..5 {
        story.wait(60).read(&good());
    }
    assert_eq!(story.causes(), [Cause::Xid(95)]);
}

#[test]
fn proof_is_void_when_it_happens_again_or_the_driver_still_asks() {
    let mut story = Story::new();
    story.xid(79);
    story.apply(HealthEvent::Restarted);
    story.wait(30).xid(79);
    story.wait(60).read(&good());
    assert_eq!(story.state(), HealthState::Unhealthy);
    story.apply(HealthEvent::Restarted);
    story
        .wait(30)
        .read(&reading(Some(RecoveryAction::NodeReboot), 0));
    story
        .wait(60)
        .read(&reading(Some(RecoveryAction::NodeReboot), 0));
    assert_eq!(story.causes(), [Cause::Xid(79), Cause::Recovery]);
}

#[test]
fn a_cause_that_comes_back_is_held_longer_up_to_a_limit() {
    let mut story = Story::new();
    let mut holds = Vec::new();
    for _ in 0..6 {
        story.xid(999);
        let hold = story.book.findings(&gpu())[0].hold;
        holds.push(hold.as_secs());
        story.wait(hold.as_secs() - 1).read(&good());
        assert_eq!(story.state(), HealthState::Degraded);
        story.wait(1).read(&good());
        assert_eq!(story.state(), HealthState::Healthy);
    }
    assert_eq!(holds, [60, 120, 240, 480, 600, 600]);
    assert_eq!(HOLD_TIME_LIMIT.as_secs(), 600);
    story.restart();
    story.read(&good());
    story.wait(RELAPSE_TIME.as_secs()).xid(999);
    assert_eq!(story.book.findings(&gpu())[0].hold, HOLD_TIME);
}

#[test]
fn evidence_in_readings_is_one_finding_and_goes_when_the_driver_says_so() {
    let pending = RemappedRows {
        pending: true,
        ..RemappedRows::default()
    };
    let failed = RemappedRows {
        failed: true,
        ..RemappedRows::default()
    };
    let with = |remapped| Reading {
        remapped: Some(remapped),
        ..good()
    };
    for (bad, cause, state) in [
        (
            reading(Some(RecoveryAction::None), 2),
            Cause::EccUncorrected,
            HealthState::Degraded,
        ),
        (
            reading(None, 2),
            Cause::EccUncorrected,
            HealthState::Unhealthy,
        ),
        (with(pending), Cause::RemapPending, HealthState::Degraded),
        (with(failed), Cause::RemapFailed, HealthState::Unhealthy),
        (
            reading(Some(RecoveryAction::DrainP2p), 0),
            Cause::Recovery,
            HealthState::Degraded,
        ),
        (
            reading(Some(RecoveryAction::DrainAndReset), 0),
            Cause::Recovery,
            HealthState::Unhealthy,
        ),
        (
            reading(Some(RecoveryAction::Other(7)), 0),
            Cause::Recovery,
            HealthState::Unhealthy,
        ),
        (
            reading(Some(RecoveryAction::Other(99)), 0),
            Cause::Recovery,
            HealthState::Degraded,
        ),
    ] {
        let mut story = Story::new();
        assert!(matches!(story.read(&bad)[..], [HealthChange::Found(_)]));
        assert_eq!(
            story.wait(60).read(&bad),
            [],
            "{cause:?} was reported twice"
        );
        assert_eq!((story.state(), story.causes()), (state, vec![cause]));
        assert_eq!(story.book.findings(&gpu())[0].count, 1);
        // A reading that leaves it out proves nothing.
        story.wait(60).read(&Reading::default());
        story.wait(600).read(&Reading::default());
        assert_eq!(story.causes(), [cause]);
        story.wait(60).read(&good());
        story.wait(60).read(&good());
        assert_eq!(story.state(), HealthState::Healthy, "{cause:?}");
    }
}

#[test]
fn evidence_follows_the_driver_both_ways() {
    let mut story = Story::new();
    story.read(&reading(Some(RecoveryAction::NodeReboot), 0));
    assert_eq!(story.book.remedy(&gpu()), Remedy::Reboot);
    let changes = story.read(&reading(Some(RecoveryAction::DrainP2p), 0));
    assert!(matches!(changes[..], [HealthChange::Repeated(_)]));
    assert_eq!(
        (story.state(), story.book.remedy(&gpu())),
        (HealthState::Degraded, Remedy::Drain)
    );
}

#[test]
fn a_partition_fault_hits_that_partition_alone() {
    let mut story = Story::new();
    story.apply(HealthEvent::Xid(
        Target {
            gpu: gpu(),
            instance: Some((1, Some(0))),
        },
        48,
    ));
    assert_eq!(story.state(), HealthState::Healthy);
    assert_eq!(
        story.book.partition_state(&gpu(), 1, 0),
        HealthState::Unhealthy
    );
    assert_eq!(
        story.book.partition_state(&gpu(), 1, 1),
        HealthState::Healthy
    );
    // The driver widens it.
    story.read(&reading(Some(RecoveryAction::GpuReset), 0));
    assert_eq!(story.state(), HealthState::Unhealthy);
    assert_eq!(
        story.book.partition_state(&gpu(), 1, 1),
        HealthState::Unhealthy
    );
}

#[test]
fn silence_is_unresponsive_and_no_reading_is_unmonitored() {
    let mut story = Story {
        book: HealthBook::default(),
        seconds: 0,
    };
    assert_eq!(story.state(), HealthState::Unmonitored);
    assert!(!story.book.was_read(&gpu()));
    story.read(&good());
    story.apply(HealthEvent::Unresponsive(
        &gpu(),
        "nvmlDeviceGetTemperature",
    ));
    assert_eq!(story.apply(HealthEvent::Unresponsive(&gpu(), "again")), []);
    assert_eq!(story.state(), HealthState::Unresponsive);
    story.apply(HealthEvent::Responsive(&gpu()));
    assert_eq!(story.state(), HealthState::Healthy);
    story.apply(HealthEvent::Scanned(
        &gpu(),
        &Presence::Silent("code 999".to_owned()),
        None,
    ));
    assert_eq!(story.state(), HealthState::Unresponsive);
    story.apply(HealthEvent::Scanned(&gpu(), &Presence::Present, None));
    story.apply(HealthEvent::Unwatched);
    assert_eq!(
        (story.state(), story.book.was_read(&gpu())),
        (HealthState::Unmonitored, true)
    );
    story.restart();
    assert_eq!(
        (story.state(), story.book.was_read(&gpu())),
        (HealthState::Unmonitored, false)
    );
}

#[test]
fn a_fabric_that_is_not_complete_keeps_its_gpu_back_until_it_is() {
    let mut story = Story::new();
    let fabric = |complete| FabricFacts {
        complete,
        state: "in progress".to_owned(),
        cluster: String::new(),
        clique: 0,
    };
    story.apply(HealthEvent::Scanned(
        &gpu(),
        &Presence::Present,
        Some(&fabric(false)),
    ));
    assert_eq!(story.state(), HealthState::Unhealthy);
    let finding = &story.book.findings(&gpu())[0];
    assert!(finding.message.contains("in progress") && finding.clears == Clearing::AtOnce);
    story.apply(HealthEvent::Scanned(
        &gpu(),
        &Presence::Present,
        Some(&fabric(true)),
    ));
    assert_eq!(story.state(), HealthState::Healthy);
}

#[test]
fn the_next_hold_end_tells_when_to_read_again() {
    let mut story = Story::new();
    story.wait(5).xid(999);
    let end = story.book.next_hold_end(story.now()).unwrap();
    assert_eq!(end, Time(0).plus(Duration::from_secs(65)));
    assert_eq!(
        story.book.held_until(story.now(), end),
        BTreeSet::from([gpu()])
    );
    assert!(story.book.held_until(end, Time(i64::MAX)).is_empty());
    assert_eq!(story.book.next_hold_end(end), None);
    assert!(
        story.book.findings(&gpu())[0]
            .how_it_clears()
            .contains("60 s")
    );
}

#[test]
fn a_replaced_gpu_takes_its_findings_along() {
    let mut story = Story::new();
    story.xid(79);
    assert!(matches!(
        story.apply(HealthEvent::Forgotten(&gpu()))[..],
        [HealthChange::Cleared(_)]
    ));
    assert!(story.causes().is_empty());
}
