//! Drivers that come late, go, or stop answering.

use gpu_keeper::{Refusal, driver_reason};
use gpu_model::{DriverState, HealthState, ProbeReport};

use crate::story::{Disk, Story, good, machine, uuid};

#[tokio::test]
async fn the_reason_follows_the_driver_until_gpus_appear() {
    let story = Story::start(Disk::new(8));
    story.keeper.adopt(Vec::new()).await;
    let mut changes = story.keeper.changes();
    let detail = || "tried /usr/lib".to_owned();
    for state in [
        DriverState::NoLibrary { detail: detail() },
        DriverState::NotLoaded,
        DriverState::VersionMismatch,
        DriverState::Broken {
            code: 999,
            detail: detail(),
        },
        DriverState::Unresponsive { detail: detail() },
    ] {
        changes.mark_unchanged();
        story.tell(ProbeReport::Driver(state.clone())).await;
        changes.changed().await.unwrap();
        let Err(Refusal::Wait { reason, message }) = story.hold("pod", 9).await else {
            panic!("{state:?}: not a wait");
        };
        assert_eq!(reason, driver_reason(&state));
        assert!(!message.is_empty());
        assert_eq!(story.snapshot().driver, Some(state));
    }
    story.bring_up(&machine(8)).await;
    assert_eq!(story.hold("pod", 8).await.unwrap().len(), 8);
}

#[tokio::test(start_paused = true)]
async fn the_first_pods_choose_when_all_gpus_are_read_or_had_their_time() {
    let story = Story::start(Disk::new(4));
    story.keeper.adopt(Vec::new()).await;
    story.tell(ProbeReport::Driver(DriverState::Ready)).await;
    story
        .until("driver ready", |s| s.driver == Some(DriverState::Ready))
        .await;
    assert_eq!(
        story.hold("pod", 1).await.unwrap_err().reason(),
        "DevicesNotScanned"
    );
    story.scan(&machine(4)).await;
    for n in [3, 1] {
        story.read(n, good()).await;
    }
    let hung = ProbeReport::Unresponsive {
        gpu: uuid(0),
        detail: "a call hangs".into(),
    };
    story.tell(hung).await;
    story.until_state(0, HealthState::Unresponsive).await;
    let mut changes = story.keeper.changes();
    assert_eq!(
        story.hold("pod", 1).await.unwrap_err().reason(),
        "DevicesNotRead"
    );
    // GPU 2 never tells anything; the others are not kept waiting for ever.
    changes.mark_unchanged();
    changes.changed().await.unwrap();
    assert_eq!(story.hold("pod", 2).await.unwrap(), [uuid(1), uuid(3)]);
    let refusal = story.hold("late", 1).await.unwrap_err();
    assert!(
        refusal.message().contains("GPU 2 is not read yet"),
        "{refusal:?}"
    );
    story.read(2, good()).await;
    story.until_state(2, HealthState::Healthy).await;
    assert_eq!(story.hold("late", 1).await.unwrap(), [uuid(2)]);
}

#[tokio::test]
async fn a_library_that_stops_answering_costs_freshness_only() {
    let story = Story::ready(8).await;
    let hung = ProbeReport::Unresponsive {
        gpu: uuid(5),
        detail: "nvmlDeviceGetPowerUsage".into(),
    };
    story.tell(hung).await;
    story.until_state(5, HealthState::Unresponsive).await;
    let detail = "no heartbeat".to_owned();
    story
        .tell(ProbeReport::Driver(DriverState::Unresponsive { detail }))
        .await;
    story.until_state(0, HealthState::Unmonitored).await;
    let gpus = story.hold("seven", 7).await.unwrap();
    assert!(!gpus.contains(&uuid(5)));
    let refusal = story.hold("eighth", 1).await.unwrap_err();
    assert_eq!(refusal.reason(), "DevicesBusy");
    assert!(
        refusal.message().contains("GPU 5 is unresponsive"),
        "{refusal:?}"
    );
    story.tell(ProbeReport::Responsive(uuid(5))).await;
    story.until_state(5, HealthState::Unmonitored).await;
    assert_eq!(story.hold("eighth", 1).await.unwrap(), [uuid(5)]);
}

#[tokio::test]
async fn an_unloaded_driver_stops_grants_and_keeps_holders() {
    let story = Story::ready(2).await;
    story.hold("pod", 1).await.unwrap();
    story
        .tell(ProbeReport::Driver(DriverState::NotLoaded))
        .await;
    story.until_state(0, HealthState::Unmonitored).await;
    assert_eq!(
        story.hold("late", 1).await.unwrap_err().reason(),
        "DriverNotLoaded"
    );
    assert_eq!(
        story.hold("pod", 1).await.unwrap(),
        [uuid(0)],
        "what is held stays held"
    );
}

#[tokio::test]
async fn a_probe_that_ends_is_a_library_that_does_not_answer() {
    let mut story = Story::ready(2).await;
    let (gone, _) = tokio::sync::mpsc::channel(1);
    story.reports = gone;
    let notice = story.notice("DriverUnresponsive").await;
    assert!(notice.message.contains("probe has ended") && notice.warning);
    assert_eq!(story.hold("pod", 1).await.unwrap().len(), 1);
}
