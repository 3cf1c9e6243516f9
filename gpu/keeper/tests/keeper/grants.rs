//! Who gets what, who waits, and who never will.

use std::collections::BTreeSet;
use std::fs;

use gpu_keeper::Refusal;
use gpu_model::{Ask, DeviceKind, GpuUuid};

use crate::story::{Disk, Story, ask, holder_names, machine_of, mig_gpu, owner, uuid, uuids, view};

#[tokio::test]
async fn pods_get_disjoint_sets_and_the_next_waits_until_one_ends() {
    let story = Story::ready(8).await;
    let mut given = BTreeSet::new();
    for (name, count) in [("one", 1), ("two", 2), ("four", 4)] {
        let gpus = story.hold(name, count).await.unwrap();
        assert_eq!(gpus.len(), count);
        assert!(
            gpus.into_iter().all(|gpu| given.insert(gpu)),
            "a GPU was given twice"
        );
    }
    let Err(Refusal::Wait { reason, message }) = story.hold("late", 2).await else {
        panic!("granted what is not there");
    };
    assert_eq!(reason, "DevicesBusy");
    assert!(
        message.starts_with("2 GPUs are asked for at once, 1 of 8 are free"),
        "{message}"
    );
    for part in [
        "default/one holds GPU",
        "default/two holds GPU",
        "default/four holds GPU",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let mut changes = story.keeper.changes();
    changes.mark_unchanged();
    story.release("two").await;
    assert!(
        changes.has_changed().unwrap(),
        "nobody was told that GPUs are free"
    );
    assert_eq!(story.hold("late", 2).await.unwrap().len(), 2);
}

#[tokio::test]
async fn sets_are_chosen_by_wiring_and_the_same_way_every_time() {
    for _ in 0..2 {
        let story = Story::ready(8).await;
        assert_eq!(story.hold("four", 4).await.unwrap(), [0, 1, 2, 3].map(uuid));
        assert_eq!(story.hold("one", 1).await.unwrap(), [uuid(4)]);
        assert_eq!(story.hold("two", 2).await.unwrap(), [5, 6].map(uuid));
    }
}

#[tokio::test]
async fn a_grant_names_its_devices_in_every_way_and_is_on_disk() {
    let story = Story::ready(2).await;
    let grants = story
        .keeper
        .hold(owner("pod"), vec![ask("main", 1)])
        .await
        .unwrap();
    let grant = &grants[0];
    assert_eq!(grant.cdi, ["k8s.device-plugin.nvidia.com/gpu=GPU-0"]);
    let nodes: Vec<_> = grant
        .plain
        .nodes
        .iter()
        .map(|node| node.container.as_str())
        .collect();
    assert_eq!(nodes, ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"]);
    let void = ("NVIDIA_VISIBLE_DEVICES".to_owned(), "void".to_owned());
    assert!(grant.plain.env.contains(&void));
    assert!(
        fs::read_to_string(story.disk.journal())
            .unwrap()
            .contains("uid-pod")
    );
    assert!(
        fs::read_to_string(story.disk.document())
            .unwrap()
            .contains("GPU-0")
    );
    let snapshot = story.snapshot();
    assert_eq!(holder_names(&snapshot, 0), ["default/pod"]);
    assert_eq!(view(&snapshot, 0).unwrap().nodes, ["/dev/nvidia0"]);
    assert_eq!(snapshot.owners, [owner("pod")]);
    story.release("pod").await;
    assert!(
        !fs::read_to_string(story.disk.journal())
            .unwrap()
            .contains("uid-pod")
    );
    assert!(story.snapshot().owners.is_empty());
}

#[tokio::test]
async fn the_same_owner_gets_the_same_devices_again() {
    let story = Story::ready(4).await;
    let asks = vec![ask("a", 1), ask("b", 2)];
    let first = story.keeper.hold(owner("pod"), asks.clone()).await.unwrap();
    assert_eq!(
        story.keeper.hold(owner("pod"), asks.clone()).await.unwrap(),
        first
    );
    // One container more: those that were there keep theirs.
    let more = [asks, vec![ask("c", 1)]].concat();
    let second = story.keeper.hold(owner("pod"), more).await.unwrap();
    assert_eq!(second[..2], first);
    let differs = story
        .keeper
        .hold(owner("pod"), vec![ask("b", 1)])
        .await
        .unwrap_err();
    assert_eq!(differs.reason(), "DevicesDiffer");
    assert!(matches!(differs, Refusal::Never { .. }));
}

#[tokio::test]
async fn it_is_all_or_nothing() {
    let story = Story::ready(4).await;
    let asks = vec![ask("a", 3), ask("b", 2)];
    let refusal = story.keeper.hold(owner("big"), asks).await.unwrap_err();
    assert!(
        matches!(refusal, Refusal::Never { .. }),
        "five of four: {refusal:?}"
    );
    story.hold("one", 1).await.unwrap();
    let asks = vec![ask("a", 2), ask("b", 2)];
    let refusal = story.keeper.hold(owner("big"), asks).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Wait { .. }));
    assert_eq!(story.snapshot().owners, [owner("one")]);
}

#[tokio::test]
async fn more_than_the_machine_has_is_never_granted() {
    let story = Story::ready(8).await;
    let refusal = story.hold("nine", 9).await.unwrap_err();
    let message = "9 GPUs are asked for at once, this node has 8".to_owned();
    assert_eq!(
        refusal,
        Refusal::Never {
            reason: "DevicesInsufficient",
            message
        }
    );
    assert_eq!(
        story.keeper.hold(owner("none"), Vec::new()).await,
        Ok(Vec::new())
    );
}

#[tokio::test]
async fn devices_of_an_init_container_are_used_again() {
    let story = Story::ready(4).await;
    let init = Ask {
        reusable: true,
        ..ask("init", 2)
    };
    let asks = vec![init, ask("sidecar", 1), ask("main", 3)];
    let grants = story.keeper.hold(owner("pod"), asks).await.unwrap();
    let sets: Vec<BTreeSet<GpuUuid>> = grants
        .iter()
        .map(|grant| uuids(std::slice::from_ref(grant)).into_iter().collect())
        .collect();
    assert!(sets[1].is_disjoint(&sets[2]));
    let later: BTreeSet<_> = sets[1].union(&sets[2]).cloned().collect();
    assert!(sets[0].is_subset(&later) && later.len() == 4);
}

#[tokio::test]
async fn a_refusal_is_told_once_and_a_new_reason_again() {
    let mut story = Story::ready(1).await;
    story.hold("first", 1).await.unwrap();
    for _ in 0..3 {
        story.hold("second", 1).await.unwrap_err();
    }
    story.hold("third", 2).await.unwrap_err();
    let told = story.notice("DevicesBusy").await;
    assert!(told.message.contains("default/first holds GPU 0") && !told.warning);
    let next = story.notices.recv().await.unwrap();
    assert_eq!((next.reason, next.warning), ("DevicesInsufficient", true));
}

#[tokio::test]
async fn a_gpu_in_mig_mode_gives_its_parts_and_not_itself() {
    let disk = Disk::new(2);
    disk.write("driver/proc/driver/nvidia-caps/mig-minors");
    let minors =
        "gpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\ngpu0/gi2/access 21\ngpu0/gi2/ci0/access 22\n";
    fs::write(
        disk.path("driver/proc/driver/nvidia-caps/mig-minors"),
        minors,
    )
    .unwrap();
    for cap in [12, 13, 21, 22] {
        disk.node(&format!("nvidia-caps/nvidia-cap{cap}"));
    }
    let story = Story::start(disk);
    let facts = machine_of(vec![mig_gpu(0, &[1, 2]), crate::story::gpu(1)]);
    story.bring_up(&facts).await;
    story.keeper.adopt(Vec::new()).await;
    assert_eq!(story.hold("whole", 1).await.unwrap(), [uuid(1)]);
    let refusal = story.hold("second", 1).await.unwrap_err();
    assert!(
        refusal.message().contains("GPU 0 is in MIG mode"),
        "{refusal:?}"
    );
    let part = |profile: &str, count| Ask {
        kind: DeviceKind::Partition(profile.to_owned()),
        ..ask("main", count)
    };
    let grants = story
        .keeper
        .hold(owner("a"), vec![part("1g.18gb", 1)])
        .await
        .unwrap();
    assert_eq!(grants[0].cdi, ["k8s.device-plugin.nvidia.com/gpu=MIG-0-1"]);
    let nodes: Vec<_> = grants[0]
        .plain
        .nodes
        .iter()
        .map(|node| node.container.clone())
        .collect();
    assert_eq!(
        nodes[2..],
        [
            "/dev/nvidia0",
            "/dev/nvidia-caps/nvidia-cap12",
            "/dev/nvidia-caps/nvidia-cap13"
        ]
    );
    let refusal = story
        .keeper
        .hold(owner("b"), vec![part("1g.18gb", 2)])
        .await
        .unwrap_err();
    assert!(refusal.message().contains("1 of 2 are free"), "{refusal:?}");
    let refusal = story
        .keeper
        .hold(owner("c"), vec![part("7g.141gb", 1)])
        .await
        .unwrap_err();
    assert!(matches!(&refusal, Refusal::Wait { message, .. } if message.contains("0 of 0")));
}

#[tokio::test]
async fn a_scan_full_of_garbage_costs_only_what_is_garbage() {
    let story = Story::start(Disk::new(4));
    let mut facts = crate::story::machine(4);
    facts.gpus[1].uuid = GpuUuid::new("\u{1b}]0;not a uuid");
    facts.gpus[2].minor = 0;
    facts.levels.clear();
    story.bring_up(&facts).await;
    story.keeper.adopt(Vec::new()).await;
    assert_eq!(story.hold("pod", 2).await.unwrap(), [uuid(0), uuid(3)]);
    let problems: Vec<_> = story
        .snapshot()
        .problems
        .iter()
        .map(|p| p.subject.clone())
        .collect();
    assert_eq!(problems, ["GPU 1", "GPU 2"]);
}
