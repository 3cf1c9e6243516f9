//! Faults, what they take away, and how they end.

use std::time::Duration;

use gpu_keeper::{ProbeAsk, Subject};
use gpu_model::{GpuEvent, HealthState, Presence, ProbeReport, Reading, RecoveryAction, SilentGpu};
use tokio::time::Instant;

use crate::story::{Story, good, holder_names, machine, machine_without, uuid, view};

#[tokio::test]
async fn a_fatal_fault_takes_the_gpu_from_the_next_pod_and_not_from_its_holder() {
    let mut story = Story::ready(2).await;
    story.hold("holder", 1).await.unwrap();
    story.xid(Some(0), 79).await;
    story.xid(Some(1), 79).await;
    let fault = story.notice("GpuUnhealthy").await;
    assert_eq!(fault.subject, Subject::Gpu(uuid(0)));
    assert!(fault.message.contains("XID 79") && fault.why == "xid-79" && fault.fault.is_some());
    story.until_asked(ProbeAsk::Read(uuid(1))).await;
    let snapshot = story.until_state(1, HealthState::Unhealthy).await;
    assert_eq!(holder_names(&snapshot, 0), ["default/holder"]);
    assert_eq!(story.hold("holder", 1).await.unwrap(), [uuid(0)]);
    let refusal = story.hold("late", 1).await.unwrap_err();
    assert_eq!(refusal.reason(), "DevicesUnusable");
    assert!(
        refusal.message().contains("GPU 1 is unhealthy (xid-79)"),
        "{refusal:?}"
    );
    // Even when its holder is gone, a broken GPU is not given out.
    story.release("holder").await;
    story.hold("late", 1).await.unwrap_err();
}

#[tokio::test]
async fn harmless_and_unknown_xids_take_nothing_away() {
    let mut story = Story::ready(1).await;
    for code in [13, 31, 43, 94] {
        story.xid(Some(0), code).await;
        let notice = story.notice("GpuXid").await;
        assert!(notice.message.contains(&format!("XID {code}")) && !notice.warning);
    }
    story.xid(Some(0), 999).await;
    story.xid(Some(0), u64::MAX).await;
    story.until_state(0, HealthState::Degraded).await;
    assert_eq!(story.hold("pod", 1).await.unwrap(), [uuid(0)]);
}

#[tokio::test]
async fn an_event_of_an_unknown_gpu_makes_all_be_looked_at_and_none_be_blamed() {
    let mut story = Story::ready(3).await;
    for gpu in [None, Some(77)] {
        story.xid(gpu, 79).await;
        for n in 0..3 {
            story.until_asked(ProbeAsk::Read(uuid(n))).await;
        }
        assert!(
            story
                .notice("GpuXid")
                .await
                .message
                .contains("did not name")
        );
    }
    story.tell(ProbeReport::Missed).await;
    story.until_asked(ProbeAsk::Read(uuid(2))).await;
    assert_eq!(story.hold("pod", 3).await.unwrap().len(), 3);
    let event = |kind, gpu| GpuEvent {
        gpu,
        kind,
        data: 0,
        gpu_instance: None,
        compute_instance: None,
    };
    story
        .tell(ProbeReport::Event(event(0x2, Some(uuid(1)))))
        .await;
    story.until_asked(ProbeAsk::Read(uuid(1))).await;
    story.tell(ProbeReport::Event(event(0x100, None))).await;
    story.until_asked(ProbeAsk::Rescan).await;
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_one_xid_is_told_now_and_then() {
    let mut story = Story::ready(1).await;
    for _ in 0..500 {
        story.xid(Some(0), 31).await;
    }
    story.xid(Some(0), 13).await;
    story.notice("GpuXid").await;
    let second = story.notice("GpuXid").await;
    assert!(second.message.contains("XID 13"), "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn a_degraded_gpu_is_read_again_when_its_hold_time_ends_and_recovers() {
    let mut story = Story::ready(1).await;
    let start = Instant::now();
    story.xid(Some(0), 999).await;
    story.until_asked(ProbeAsk::Read(uuid(0))).await;
    story.read(0, good()).await;
    let wait = async { story.asks.recv().await };
    let ask = tokio::time::timeout(Duration::from_secs(120), wait)
        .await
        .unwrap();
    assert_eq!(ask, Some(ProbeAsk::Read(uuid(0))));
    let took = start.elapsed();
    assert!(
        took >= Duration::from_secs(60) && took < Duration::from_secs(62),
        "{took:?}"
    );
    story.read(0, good()).await;
    let over = story.notice("GpuRecovered").await;
    assert_eq!((over.why.as_str(), over.warning), ("xid-unknown", false));
    story.until_state(0, HealthState::Healthy).await;
}

#[tokio::test(start_paused = true)]
async fn a_recovery_that_was_asked_for_and_done_brings_the_gpu_back() {
    let mut story = Story::ready(1).await;
    story.xid(Some(0), 95).await;
    let asks = Reading {
        recovery: Some(RecoveryAction::GpuReset),
        ..good()
    };
    story.read(0, asks).await;
    story.until_state(0, HealthState::Unhealthy).await;
    let refusal = story.hold("pod", 1).await.unwrap_err();
    assert!(
        refusal.message().contains("xid-95, recovery-action"),
        "{refusal:?}"
    );
    story.read(0, good()).await;
    while story.asks.try_recv().is_ok() {}
    let mut changes = story.keeper.changes();
    let ask = tokio::time::timeout(Duration::from_secs(90), story.asks.recv())
        .await
        .unwrap();
    assert_eq!(ask, Some(ProbeAsk::Read(uuid(0))));
    changes.mark_unchanged();
    story.read(0, good()).await;
    changes.changed().await.unwrap();
    assert_eq!(story.hold("pod", 1).await.unwrap(), [uuid(0)]);
}

#[tokio::test]
async fn a_gpu_that_vanishes_keeps_its_holder_and_comes_back() {
    let mut story = Story::ready(3).await;
    story.hold("pod", 1).await.unwrap();
    story.scan(&machine_without(3, &[0, 1])).await;
    let snapshot = story.until_state(1, HealthState::Unhealthy).await;
    assert_eq!(view(&snapshot, 1).unwrap().presence, Presence::Missing);
    assert_eq!(holder_names(&snapshot, 0), ["default/pod"]);
    assert_eq!((snapshot.expected, snapshot.gpus.len()), (3, 3));
    // Its node is still there, so its container can start again.
    assert_eq!(story.hold("pod", 1).await.unwrap(), [uuid(0)]);
    assert_eq!(story.hold("next", 1).await.unwrap(), [uuid(2)]);
    let refusal = story.hold("late", 1).await.unwrap_err();
    assert!(
        refusal.message().contains("GPU 1 is unhealthy (missing)"),
        "{refusal:?}"
    );
    story.scan(&machine(3)).await;
    story.notice("GpuReturned").await;
    assert_eq!(story.hold("late", 1).await.unwrap(), [uuid(1)]);
}

#[tokio::test]
async fn a_silent_gpu_costs_itself() {
    let story = Story::ready(4).await;
    let mut facts = machine_without(4, &[3]);
    facts.silent.push(SilentGpu {
        index: 3,
        uuid: Some(uuid(3)),
        fault: "code 15".into(),
    });
    story.scan(&facts).await;
    story.until_state(3, HealthState::Unresponsive).await;
    for (name, count) in [("one", 1), ("two", 2)] {
        assert!(!story.hold(name, count).await.unwrap().contains(&uuid(3)));
    }
    let refusal = story.hold("late", 1).await.unwrap_err();
    assert!(
        refusal.message().contains("GPU 3 is unresponsive (silent)"),
        "{refusal:?}"
    );
}

#[tokio::test]
async fn reports_on_gpus_that_nobody_has_seen_change_nothing() {
    let story = Story::ready(1).await;
    story
        .tell(ProbeReport::Lost {
            gpu: uuid(42),
            code: 15,
        })
        .await;
    story.tell(ProbeReport::Responsive(uuid(42))).await;
    story.read(42, good()).await;
    story
        .tell(ProbeReport::Lost {
            gpu: uuid(0),
            code: 16,
        })
        .await;
    let snapshot = story.until_state(0, HealthState::Unhealthy).await;
    assert_eq!(snapshot.gpus.len(), 1);
}
