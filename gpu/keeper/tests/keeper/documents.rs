//! The CDI document around grants.

use std::fs;

use gpu_model::DriverFacts;

use crate::story::{Disk, Story, VERSION, machine, uuid, view};

#[tokio::test(start_paused = true)]
async fn missing_driver_files_are_waited_for() {
    let disk = Disk::new(2);
    let library = format!("driver/usr/lib/x86_64-linux-gnu/libcuda.so.{VERSION}");
    fs::remove_file(disk.path(&library)).unwrap();
    let mut story = Story::start(disk);
    story.bring_up(&machine(2)).await;
    story.keeper.adopt(Vec::new()).await;
    let refusal = story.hold("pod", 1).await.unwrap_err();
    assert_eq!(refusal.reason(), "DriverFilesMissing");
    assert!(refusal.message().contains("libcuda.so.580"), "{refusal:?}");
    assert!(story.notice("DriverFilesMissing").await.warning);
    assert_eq!(story.snapshot().problems[0].reason, "DriverFilesMissing");
    let mut changes = story.keeper.changes();
    changes.mark_unchanged();
    story.disk.write(&library);
    changes.changed().await.unwrap();
    assert_eq!(story.hold("pod", 1).await.unwrap(), [uuid(0)]);
    assert!(story.snapshot().problems.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_missing_node_costs_its_gpu_until_it_appears() {
    let disk = Disk::new(2);
    fs::remove_file(disk.path("host/dev/nvidia0")).unwrap();
    let story = Story::start(disk);
    story.bring_up(&machine(2)).await;
    story.keeper.adopt(Vec::new()).await;
    assert_eq!(story.hold("first", 1).await.unwrap(), [uuid(1)]);
    let refusal = story.hold("second", 1).await.unwrap_err();
    assert!(
        refusal.message().contains("GPU 0 lacks a device node"),
        "{refusal:?}"
    );
    let mut changes = story.keeper.changes();
    changes.mark_unchanged();
    story.disk.node("nvidia0");
    changes.changed().await.unwrap();
    assert_eq!(story.hold("second", 1).await.unwrap(), [uuid(0)]);
}

#[tokio::test]
async fn a_damaged_or_removed_document_is_written_again_before_a_grant() {
    let story = Story::ready(3).await;
    let whole = fs::read(story.disk.document()).unwrap();
    for damage in [Some(&whole[..whole.len() / 2]), Some(&[]), None] {
        match damage {
            Some(content) => fs::write(story.disk.document(), content).unwrap(),
            None => fs::remove_file(story.disk.document()).unwrap(),
        }
        story.hold("pod", 1).await.unwrap();
        assert_eq!(fs::read(story.disk.document()).unwrap(), whole);
    }
}

#[tokio::test]
async fn a_file_that_vanished_is_noticed_before_the_grant() {
    let disk = Disk::new(1);
    disk.write("driver/usr/bin/nvidia-smi");
    let story = Story::start(disk);
    story.bring_up(&machine(1)).await;
    story.keeper.adopt(Vec::new()).await;
    let document = || fs::read_to_string(story.disk.document()).unwrap();
    assert!(document().contains("nvidia-smi"));
    fs::remove_file(story.disk.path("driver/usr/bin/nvidia-smi")).unwrap();
    story.hold("pod", 1).await.unwrap();
    assert!(!document().contains("nvidia-smi"));
}

#[tokio::test]
async fn another_driver_version_makes_another_document() {
    let story = Story::ready(1).await;
    story
        .disk
        .write("driver/usr/lib/x86_64-linux-gnu/libcuda.so.590.1");
    let mut facts = machine(1);
    facts.driver = DriverFacts {
        driver: "590.1".to_owned(),
        ..facts.driver
    };
    story.scan(&facts).await;
    story
        .until("the new driver", |snapshot| {
            snapshot.versions.driver == "590.1"
        })
        .await;
    let document = fs::read_to_string(story.disk.document()).unwrap();
    assert!(document.contains("libcuda.so.590.1") && !document.contains(VERSION));
}

#[tokio::test]
async fn a_gpu_that_went_away_never_lends_its_name_to_another_ones_node() {
    let story = Story::ready(2).await;
    assert_eq!(story.hold("pod", 1).await.unwrap(), [uuid(0)]);
    // GPU 0 is gone, and what was GPU 1 has its index and minor number now.
    let mut facts = crate::story::machine_without(2, &[0]);
    facts.gpus[0].minor = 0;
    facts.gpus[0].index = 0;
    story.scan(&facts).await;
    story
        .until("the change", |s| {
            view(s, 1).is_some_and(|gpu| gpu.facts.minor == 0)
        })
        .await;
    let refusal = story.hold("pod", 1).await.unwrap_err();
    assert_eq!(refusal.reason(), "DevicesNotDescribed");
    assert_eq!(story.hold("other", 1).await.unwrap(), [uuid(1)]);
}
