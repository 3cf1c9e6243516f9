//! What survives a restart, and what a broken disk costs.

use std::fs;

use gpu_model::{DriverState, HealthState, Presence, ProbeReport};

use crate::story::{Story, good, holder_names, machine, machine_without, uuid, view};

#[tokio::test]
async fn holders_survive_and_need_no_driver() {
    let story = Story::ready(4).await;
    let before = story.hold("pod", 2).await.unwrap();
    let story = Story::start(story.crash());
    story
        .tell(ProbeReport::Driver(DriverState::NotLoaded))
        .await;
    story
        .until("the driver", |s| s.driver == Some(DriverState::NotLoaded))
        .await;
    assert_eq!(story.hold("pod", 2).await.unwrap(), before);
    assert_eq!(story.snapshot().expected, 4);
    assert_eq!(
        story.hold("next", 1).await.unwrap_err().reason(),
        "DevicesNotAdopted"
    );
    story.keeper.adopt(Vec::new()).await;
    story.bring_up(&machine(4)).await;
    let next = story.hold("next", 2).await.unwrap();
    assert!(next.iter().all(|gpu| !before.contains(gpu)));
}

#[tokio::test]
async fn a_verdict_survives_a_restart_and_a_boot_is_the_beginning_of_its_end() {
    let story = Story::ready(1).await;
    story.xid(Some(0), 79).await;
    story.until_state(0, HealthState::Unhealthy).await;
    let story = Story::start(story.crash());
    story.bring_up(&machine(1)).await;
    story.keeper.adopt(Vec::new()).await;
    let finding = view(&story.snapshot(), 0).unwrap().findings[0].clone();
    assert_eq!(
        (finding.cause.name().as_str(), finding.proof),
        ("xid-79", None)
    );
    story.hold("pod", 1).await.unwrap_err();
    let story = Story::start_in(story.crash(), "boot-2");
    story.bring_up(&machine(1)).await;
    let finding = view(&story.snapshot(), 0).unwrap().findings[0].clone();
    assert!(finding.proof.is_some() && finding.how_it_clears().contains("proof was seen"));
}

#[tokio::test]
async fn nothing_is_said_about_known_gpus_before_the_first_scan() {
    let story = Story::ready(2).await;
    let story = Story::start(story.crash());
    let early = story.until("the journal", |s| s.gpus.len() == 2).await;
    assert!(!early.looked, "no report has come");
    story.tell(ProbeReport::Driver(DriverState::Ready)).await;
    let early = story.until("the driver", |s| s.driver == Some(DriverState::Ready));
    assert!(!early.await.looked, "no scan has come");
    story.scan(&machine(2)).await;
    let seen = story.until("the scan", |s| s.looked).await;
    let there = |gpu: &std::sync::Arc<gpu_keeper::GpuView>| gpu.presence == Presence::Present;
    assert!(seen.gpus.len() == 2 && seen.gpus.iter().all(there));

    let story = Story::start(story.crash());
    story
        .tell(ProbeReport::Driver(DriverState::NotLoaded))
        .await;
    story.until("a driver that is away", |s| s.looked).await;
}

#[tokio::test]
async fn a_gpu_that_is_gone_after_a_restart_is_missed() {
    let story = Story::ready(8).await;
    let story = Story::start(story.crash());
    story.bring_up(&machine_without(8, &[6])).await;
    story.keeper.adopt(Vec::new()).await;
    let snapshot = story.until_state(6, HealthState::Unhealthy).await;
    assert_eq!(snapshot.expected, 8);
    assert_eq!(
        snapshot.gpus.last().unwrap().facts.uuid,
        uuid(6),
        "missing ones come last"
    );
    let refusal = story.hold("pod", 8).await.unwrap_err();
    assert_eq!(
        refusal.reason(),
        "DevicesUnusable",
        "it may come back: {refusal:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn no_grant_without_a_journal_and_grants_again_when_the_disk_is_well() {
    let mut story = Story::ready(2).await;
    // The record cannot be replaced while a folder has the name of its successor.
    let obstacle = story.disk.path("state/.gpus.new");
    fs::create_dir_all(obstacle.join("full")).unwrap();
    let refusal = story.hold("pod", 1).await.unwrap_err();
    assert_eq!(refusal.reason(), "JournalNotWritten");
    let to_the_pod = story.notice("JournalNotWritten").await;
    let to_the_node = story.notice("JournalNotWritten").await;
    assert!(
        !to_the_pod.warning && to_the_node.warning && to_the_node.message.contains("free space")
    );
    assert!(holder_names(&story.snapshot(), 0).is_empty());
    assert_eq!(story.snapshot().problems[0].reason, "JournalNotWritten");
    let mut changes = story.keeper.changes();
    changes.mark_unchanged();
    fs::remove_dir_all(obstacle).unwrap();
    changes.changed().await.unwrap();
    assert_eq!(story.hold("pod", 1).await.unwrap(), [uuid(0)]);
    assert!(story.snapshot().problems.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_written_is_written_later() {
    let story = Story::ready(2).await;
    story.hold("pod", 1).await.unwrap();
    let obstacle = story.disk.path("state/.gpus.new");
    fs::create_dir_all(obstacle.join("full")).unwrap();
    story.release("pod").await;
    assert!(
        fs::read_to_string(story.disk.journal())
            .unwrap()
            .contains("uid-pod")
    );
    fs::remove_dir_all(obstacle).unwrap();
    story
        .until("the journal is fine", |snapshot| {
            snapshot.problems.is_empty()
        })
        .await;
    assert!(
        !fs::read_to_string(story.disk.journal())
            .unwrap()
            .contains("uid-pod")
    );
}

#[tokio::test]
async fn a_journal_of_another_version_is_set_aside_and_kept() {
    let story = Story::ready(1).await;
    story.hold("pod", 1).await.unwrap();
    let disk = story.crash();
    let text = fs::read_to_string(disk.journal()).unwrap();
    let newer = text.replacen("gpulet-record 1 ", "gpulet-record 7 ", 1);
    assert_ne!(newer, text);
    fs::write(disk.journal(), &newer).unwrap();
    let story = Story::start(disk);
    story.keeper.adopt(Vec::new()).await;
    let problem = story.snapshot().problems[0].clone();
    assert_eq!(problem.reason, "JournalDamaged");
    assert!(problem.message.contains("version 7"), "{problem:?}");
    let kept = story.disk.path("state/gpus.version-7");
    assert_eq!(fs::read_to_string(kept).unwrap(), newer);
}

#[tokio::test]
async fn readings_reach_the_snapshot_and_share_what_did_not_change() {
    let story = Story::ready(2).await;
    let before = story.snapshot();
    let reading = gpu_model::Reading {
        temperature: Some(77),
        ..good()
    };
    story.read(1, reading).await;
    let after = story
        .until("the reading", |snapshot| {
            let reading = view(snapshot, 1).and_then(|gpu| gpu.reading.clone());
            reading.is_some_and(|(_, reading)| reading.temperature == Some(77))
        })
        .await;
    assert!(after.generation > before.generation);
    assert!(std::sync::Arc::ptr_eq(&before.gpus[0], &after.gpus[0]));
    assert!(std::sync::Arc::ptr_eq(
        &before.gpus[1].facts,
        &after.gpus[1].facts
    ));
}
