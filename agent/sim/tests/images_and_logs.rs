//! Images: joined, bounded, known, missing. Logs: opened anew only when rotated.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use agent_core::{ContainerState, ImageName, PullPolicy};
use agent_sim::{Stage, Verb, play, pod};

const SOON: Duration = Duration::from_secs(5);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn pulls_of_one_image_are_joined_and_pulls_of_several_are_bounded() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let image = |pod: agent_sim::PodBuilder, image| {
            pod.container("main")
                .image(image, PullPolicy::IfNotPresent)
                .build()
        };
        let pods = [
            image(pod("one"), "example.com/big:1"),
            image(pod("two"), "example.com/big:1"),
            image(pod("three"), "example.com/big:1"),
            image(pod("four"), "example.com/other:1"),
        ];
        stage.want(&pods.iter().collect::<Vec<_>>());
        stage
            .until("the joined ones run", seconds(3), |view| {
                ["one", "two", "three"].iter().all(|name| view.ready(name))
            })
            .await;
        assert!(!stage.holds(|view| view.ready("four")), "pulls are serial");
        stage
            .until("the other one", seconds(3), |view| view.ready("four"))
            .await;
        assert_eq!(stage.world.read(|state| state.count(Verb::Pull)), 2);
        // From now on the image is known: no call.
        let asks = |stage: &Stage| stage.world.read(|state| state.count(Verb::Image));
        let before = asks(&stage);
        let five = image(pod("five"), "example.com/big:1");
        stage.want(&pods.iter().chain([&five]).collect::<Vec<_>>());
        stage.until("known", SOON, |view| view.ready("five")).await;
        assert_eq!(asks(&stage), before);
        // Somebody removes it behind our back.
        stage
            .world
            .change(|state| state.images.remove(&ImageName::new("example.com/big:1")));
        let six = image(pod("six"), "example.com/big:1");
        stage.want(&pods.iter().chain([&five, &six]).collect::<Vec<_>>());
        stage
            .until("pulled again", seconds(20), |view| view.ready("six"))
            .await;
        assert_eq!(stage.world.read(|state| state.count(Verb::Pull)), 3);
    });
}

#[test]
fn an_image_that_cannot_be_had_is_told_and_tried_again() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let bad = pod("bad")
            .container("main")
            .image("example.com/missing:1", PullPolicy::Always);
        let never = pod("never")
            .container("main")
            .image("example.com/absent:1", PullPolicy::Never);
        let (bad, never) = (bad.build(), never.build());
        let good = pod("good").container("main").build();
        stage.want(&[&bad, &never, &good]);
        stage
            .until("the good one runs", SOON, |view| view.ready("good"))
            .await;
        let waiting = |stage: &Stage, name: &str| {
            stage
                .board()
                .values()
                .find(|pod| &*pod.name.name == name)
                .map(|pod| match &pod.status.containers[0].state {
                    ContainerState::Waiting { reason, .. } => reason.clone(),
                    other => format!("{other:?}"),
                })
        };
        assert_eq!(
            waiting(&stage, "never").as_deref(),
            Some("ErrImageNeverPull")
        );
        stage.pass(seconds(5)).await;
        let shown = waiting(&stage, "bad").unwrap();
        assert!(
            shown == "ErrImagePull" || shown == "ImagePullBackOff",
            "{shown}"
        );
        // Back-off of 10, 20, 40 s.
        stage.pass(seconds(80)).await;
        let pulls = stage.world.read(|state| state.count(Verb::Pull));
        assert_eq!(pulls, 4);
        stage.want(&[]);
        stage
            .until("all gone", SOON, |view| {
                view.board.is_empty() && view.state.summary().is_empty()
            })
            .await;
        stage.assert_fine();
    });
}

#[test]
fn a_pull_that_nobody_waits_for_any_more_is_dropped() {
    play(|| async {
        let mut stage = Stage::new();
        stage.world.latency(Verb::Pull, seconds(3600));
        stage.boot();
        let slow = pod("slow")
            .container("main")
            .image("example.com/slow:1", PullPolicy::Always);
        let slow = slow.build();
        stage.want(&[&slow]);
        stage
            .until("pulling", SOON, |view| view.state.count(Verb::Pull) == 1)
            .await;
        stage.want(&[]);
        stage
            .until("gone", SOON, |view| view.is_gone(&slow.want.uid))
            .await;
        stage.world.latency(Verb::Pull, seconds(1));
        let other = pod("other")
            .container("main")
            .image("example.com/fast:1", PullPolicy::Always);
        stage.want(&[&other.build()]);
        stage
            .until("the next pull is not blocked", SOON, |view| {
                view.ready("other")
            })
            .await;
    });
}

#[test]
fn a_log_is_opened_anew_only_after_it_was_rotated() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let web = pod("web").container("main").container("quiet").build();
        stage.want(&[&web]);
        stage.until("ready", SOON, |view| view.ready("web")).await;
        stage.pass(seconds(60)).await;
        assert_eq!(stage.world.read(|state| state.count(Verb::ReopenLog)), 0);
        let name = agent_core::ContainerName::new("main");
        stage.world.change(|state| state.big_logs.insert(name));
        stage.pass(seconds(60)).await;
        assert_eq!(stage.world.read(|state| state.count(Verb::ReopenLog)), 1);
    });
}
