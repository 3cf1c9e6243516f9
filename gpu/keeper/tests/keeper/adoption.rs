//! A journal that is lost, and a runtime that knows better.

use std::fs;

use gpu_keeper::Seen;

use crate::story::{Disk, Story, holder_names, machine, observed, uuid};

#[tokio::test]
async fn a_damaged_journal_is_set_aside_and_rebuilt_from_the_runtime() {
    for keep in [
        |whole: &[u8]| whole[..whole.len() / 2].to_vec(),
        |_: &[u8]| Vec::new(),
    ] {
        let story = Story::ready(8).await;
        story.hold("a", 2).await.unwrap();
        let disk = story.crash();
        let whole = fs::read(disk.journal()).unwrap();
        fs::write(disk.journal(), keep(&whole)).unwrap();

        let mut story = Story::start(disk);
        assert!(story.notice("JournalDamaged").await.warning);
        let problem = story.snapshot().problems[0].clone();
        assert!(problem.message.contains("set aside") && problem.message.contains("rebuilt"));
        story.bring_up(&machine(8)).await;
        assert_eq!(
            story.hold("new", 1).await.unwrap_err().reason(),
            "DevicesNotAdopted"
        );
        let seen = vec![Seen::Uuid(uuid(0)), Seen::Uuid(uuid(1))];
        story.keeper.adopt(vec![observed("a", seen)]).await;
        assert_eq!(story.hold("a", 2).await.unwrap(), [uuid(0), uuid(1)]);
        let rest = story.hold("new", 6).await.unwrap();
        assert!(!rest.contains(&uuid(0)) && !rest.contains(&uuid(1)));
        assert!(story.disk.path("state/gpus.damaged").exists());
    }
}

#[tokio::test]
async fn devices_are_recognised_in_every_way_a_runtime_shows_them() {
    let story = Story::start(Disk::new(8));
    story.bring_up(&machine(8)).await;
    let cdi = |name: &str| Seen::Cdi(format!("k8s.device-plugin.nvidia.com/gpu={name}"));
    let containers = vec![
        observed("uuid", vec![Seen::Uuid(uuid(0))]),
        observed("cdi", vec![cdi("GPU-1"), Seen::Minor(1)]),
        observed("index", vec![Seen::Cdi("nvidia.com/gpu=2".to_owned())]),
        observed("minor", vec![Seen::Minor(3), Seen::Minor(4)]),
        observed("nothing", Vec::new()),
    ];
    story.keeper.adopt(containers).await;
    let snapshot = story.snapshot();
    let holders: Vec<_> = (0..8)
        .map(|n| holder_names(&snapshot, n).join(" "))
        .collect();
    let expected = ["uuid", "cdi", "index", "minor", "minor"].map(|name| format!("default/{name}"));
    assert_eq!(holders[..5], expected);
    assert_eq!(holders[5..], ["", "", ""]);
    assert_eq!(story.hold("rest", 3).await.unwrap(), [5, 6, 7].map(uuid));
}

#[tokio::test]
async fn what_runs_is_recognised_later_when_the_driver_is_late() {
    let story = Story::start(Disk::new(2));
    story
        .keeper
        .adopt(vec![observed("early", vec![Seen::Minor(1)])])
        .await;
    assert_eq!(story.snapshot().owners.len(), 1, "it is an owner already");
    story.bring_up(&machine(2)).await;
    assert_eq!(holder_names(&story.snapshot(), 1), ["default/early"]);
    assert_eq!(story.hold("next", 1).await.unwrap(), [uuid(0)]);
    story.hold("late", 1).await.unwrap_err();
}

#[tokio::test]
async fn a_device_that_nobody_knows_is_a_problem_until_its_owner_is_gone() {
    let story = Story::start(Disk::new(1));
    story.bring_up(&machine(1)).await;
    story
        .keeper
        .adopt(vec![observed("odd", vec![Seen::Minor(9)])])
        .await;
    let problem = story.snapshot().problems[0].clone();
    assert_eq!(
        (problem.reason, problem.subject.as_str()),
        ("DeviceUnknown", "default/odd")
    );
    story.hold("pod", 1).await.unwrap();
    story.release("odd").await;
    assert!(story.snapshot().problems.is_empty());
}

#[tokio::test]
async fn two_owners_of_one_gpu_are_told_and_nobody_gets_it_before_both_are_gone() {
    let mut story = Story::start(Disk::new(1));
    story.bring_up(&machine(1)).await;
    let both = ["first", "second"].map(|name| observed(name, vec![Seen::Uuid(uuid(0))]));
    story.keeper.adopt(both.to_vec()).await;
    let told = story.notice("DeviceContested").await;
    assert!(
        told.warning && told.message.contains("default/first") && told.message.contains("GPU 0")
    );
    assert_eq!(story.snapshot().problems[0].reason, "DeviceContested");
    story.release("first").await;
    assert!(story.snapshot().problems.is_empty());
    story.hold("late", 1).await.unwrap_err();
    story.release("second").await;
    assert_eq!(story.hold("late", 1).await.unwrap(), [uuid(0)]);
}

#[tokio::test]
async fn the_runtime_adds_to_a_sound_journal_and_changes_nothing_in_it() {
    let story = Story::ready(4).await;
    story.hold("known", 1).await.unwrap();
    let story = Story::start(story.crash());
    story.bring_up(&machine(4)).await;
    let containers = vec![
        observed("known", vec![Seen::Uuid(uuid(3))]),
        observed("stranger", vec![Seen::Uuid(uuid(2))]),
    ];
    story.keeper.adopt(containers).await;
    assert_eq!(story.hold("known", 1).await.unwrap(), [uuid(0)]);
    assert_eq!(holder_names(&story.snapshot(), 2), ["default/stranger"]);
    assert!(holder_names(&story.snapshot(), 3).is_empty());
}
