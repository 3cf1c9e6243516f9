//! Pods of an API server: deleted in two steps, ended earlier, with contents that change.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use agent_core::{Life, Phase, PodUid, StopWhy};
use agent_sim::{Script, Stage, Verb, View, play, pod};

const SOON: Duration = Duration::from_secs(5);
const GRACE: Duration = Duration::from_secs(20);

fn life<'a>(view: &'a View<'_>, name: &str) -> Option<&'a Life> {
    view.pod(name).map(|pod| &pod.life)
}

fn is_done(view: &View<'_>, name: &str) -> bool {
    life(view, name) == Some(&Life::Done)
}

#[test]
fn a_deleted_pod_is_shown_as_done_until_its_object_is_gone() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let (running, deleted) = (
            pod("p").container("main").api().build(),
            pod("p").container("main").deleted(GRACE).build(),
        );
        stage.want(&[&running]);
        stage.until("runs", SOON, |view| view.ready("p")).await;
        stage.want(&[&deleted]);
        stage.until("done", SOON, |view| is_done(view, "p")).await;
        let uid = PodUid::new("uid-p");
        assert!(!stage.world.read(|state| state.summary().contains_key(&uid)));
        // Its source goes on naming it; nothing is started again.
        stage.want(&[&deleted]);
        stage.pass(Duration::from_secs(120)).await;
        assert!(stage.holds(|view| is_done(view, "p")));
        assert_eq!(count(&stage, Verb::RunSandbox), 1);
        stage.want(&[]);
        stage.until("gone", SOON, |view| view.is_gone(&uid)).await;
        stage.assert_fine();
    });
}

#[test]
fn a_pod_that_was_deleted_before_it_ran_is_done_at_once() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        stage.want(&[&pod("p").container("main").deleted(GRACE).build()]);
        stage.until("done", SOON, |view| is_done(view, "p")).await;
        assert_eq!(count(&stage, Verb::RunSandbox), 0);
        stage.assert_fine();
    });
}

#[test]
fn a_second_deletion_can_only_shorten_the_grace_period() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        stage.world.script("main", &[Script::stubborn()]);
        let pod = || pod("p").container("main");
        stage.want(&[&pod().api().build()]);
        stage.until("runs", SOON, |view| view.ready("p")).await;
        stage.want(&[&pod().deleted(Duration::from_secs(100)).build()]);
        stage
            .until("stops", SOON, |view| {
                let why = StopWhy::Deleted;
                matches!(life(view, "p"), Some(Life::Stopping { why: shown, .. }) if *shown == why)
            })
            .await;
        let begun = stage.world.clock.now();
        stage.want(&[&pod().deleted(Duration::from_secs(500)).build()]);
        stage.pass(SOON).await;
        stage.want(&[&pod().deleted(GRACE).build()]);
        let limit = Duration::from_secs(60);
        stage.until("done", limit, |view| is_done(view, "p")).await;
        let took = stage.world.clock.now().since(begun);
        assert!(took >= GRACE && took < GRACE + SOON + SOON, "{took:?}");
        stage.assert_fine();
    });
}

#[test]
fn a_restart_in_the_middle_of_a_deletion_carries_it_on() {
    for moment in 0..12 {
        play(|| async move {
            let mut stage = Stage::new();
            stage.boot();
            let deleted = pod("p").container("main").deleted(GRACE).build();
            stage.want(&[&pod("p").container("main").api().build()]);
            stage.until("runs", SOON, |view| view.ready("p")).await;
            let now = stage.world.moments();
            stage.world.crash_at(now + moment);
            stage.want(&[&deleted]);
            stage.pass(SOON).await;
            stage.crash();
            stage.boot();
            stage.want(&[&deleted]);
            let limit = Duration::from_secs(30);
            stage.until("done", limit, |view| is_done(view, "p")).await;
            assert_eq!(count(&stage, Verb::RunSandbox), 1, "moment {moment}");
            stage.assert_fine();
        });
    }
}

#[test]
fn a_pod_that_ended_earlier_is_left_alone_after_a_restart() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        stage.want(&[&pod("p").container("main").over().build()]);
        stage
            .until("finished", SOON, |view| {
                life(view, "p") == Some(&Life::Finished)
            })
            .await;
        assert_eq!(count(&stage, Verb::RunSandbox), 0);
        stage.assert_fine();
    });
}

#[test]
fn volumes_are_written_again_when_an_object_changes() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let (one, two) = (
            pod("one").container("main").api().build(),
            pod("two").container("main").api().build(),
        );
        stage.want(&[&one, &two]);
        stage
            .until("run", SOON, |view| view.ready("one") && view.ready("two"))
            .await;
        let before = count(&stage, Verb::PreparePod);
        stage.world.touch_objects(&PodUid::new("uid-one"));
        stage.pass(SOON).await;
        assert_eq!(count(&stage, Verb::PreparePod), before + 1);
        stage.assert_fine();
    });
}

fn count(stage: &Stage, verb: Verb) -> usize {
    let calls = stage.world.read(|state| state.calls.clone());
    calls.iter().filter(|call| call.verb == verb).count()
}

fn offer(pods: &str) -> std::sync::Arc<agent_core::NodeOffer> {
    let mut offer = agent_core::NodeOffer::default();
    let resource = agent_core::ResourceName::new("pods");
    offer.allocatable.insert(resource, pods.parse().unwrap());
    std::sync::Arc::new(offer)
}

#[test]
fn a_pod_too_many_fails_and_running_ones_are_never_asked_again() {
    play(|| async {
        let mut stage = Stage::new();
        stage.world.offer.send_replace(Some(offer("1")));
        stage.boot();
        let one = pod("one").container("main").api().build();
        let two = pod("two").container("main").api().build();
        stage.want(&[&one]);
        stage.until("one", SOON, |view| view.ready("one")).await;
        stage.want(&[&one, &two]);
        let failed = |view: &View<'_>, name: &str| {
            let status = view.status(name);
            status
                .is_some_and(|status| status.phase == Phase::Failed && status.reason == "OutOfpods")
        };
        stage
            .until("refused", SOON, |view| failed(view, "two"))
            .await;
        assert!(
            stage
                .events()
                .iter()
                .any(|event| event.reason == "OutOfpods")
        );
        // The node shrinks and the agent is started again: what runs goes on.
        stage.world.offer.send_replace(Some(offer("0")));
        stage.crash();
        stage.boot();
        stage.pass(SOON).await;
        assert!(stage.holds(|view| view.ready("one") && failed(view, "two")));
        // A refused pod takes no room, and a pod that is gone gives its room back.
        stage.world.offer.send_replace(Some(offer("1")));
        let three = pod("three").container("main").api().build();
        stage.want(&[&two, &pod("one").container("main").deleted(GRACE).build()]);
        stage
            .until("one is done", SOON, |view| is_done(view, "one"))
            .await;
        stage.want(&[&two, &three]);
        stage.until("three", SOON, |view| view.ready("three")).await;
        stage.assert_fine();
    });
}

#[test]
fn a_pod_of_the_api_waits_for_devices_for_a_time_and_then_fails() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let first = pod("first").container("main").gpus(8).build();
        let (api, file) = (
            pod("api").container("main").gpus(1).api().build(),
            pod("file").container("main").gpus(1).build(),
        );
        stage.want(&[&first]);
        stage.until("first", SOON, |view| view.ready("first")).await;
        stage.want(&[&first, &api, &file]);
        stage.pass(Duration::from_secs(170)).await;
        let phase = |view: &View<'_>, name: &str| view.status(name).map(|status| status.phase);
        assert!(stage.holds(|view| phase(view, "api") == Some(Phase::Pending)));
        let limit = Duration::from_secs(20);
        stage
            .until("fails", limit, |view| {
                let status = view.status("api").unwrap();
                status.phase == Phase::Failed && status.reason == "UnexpectedAdmissionError"
            })
            .await;
        stage.pass(Duration::from_secs(600)).await;
        assert!(stage.holds(|view| phase(view, "file") == Some(Phase::Pending)));
        stage.assert_fine();
    });
}
