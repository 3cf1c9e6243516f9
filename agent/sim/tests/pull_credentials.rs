//! Images behind credentials: who may pull, who may use what was pulled, and what is told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use agent_core::{ContainerState, ImageName, PullPolicy};
use agent_loops::PullLimits;
use agent_loops::ports::{PullEnd, WantedPod};
use agent_sim::{Stage, Verb, play, pod};

const SOON: Duration = Duration::from_secs(5);
const PRIVATE: &str = "example.com/private:1";

fn private() -> ImageName {
    ImageName::new(PRIVATE)
}

fn user(name: &str, policy: PullPolicy) -> WantedPod {
    pod(name).container("main").image(PRIVATE, policy).build()
}

/// A world whose private image opens with `key`; pulls are not bounded.
fn stage(keys: &[(&str, &[&str])]) -> Stage {
    let mut stage = Stage::new();
    stage.settings.pulls = PullLimits::default();
    stage.world.change(|state| {
        state.keys.locks.insert(private(), "key".to_owned());
        for (pod, passwords) in keys {
            let passwords = passwords.iter().map(|each| (*each).to_owned()).collect();
            state.keys.of_pods.insert((*pod).to_owned(), passwords);
        }
    });
    stage.boot();
    stage
}

fn waits_for(stage: &Stage, name: &str) -> Option<(String, String)> {
    let board = stage.board();
    let pod = board.values().find(|pod| &*pod.name.name == name)?;
    match &pod.status.containers[0].state {
        ContainerState::Waiting { reason, message } => Some((reason.clone(), message.clone())),
        _ => None,
    }
}

fn told(stage: &Stage, reason: &str) -> Vec<String> {
    let events = stage.events();
    let events = events.iter().filter(|event| event.reason == reason);
    events.map(|event| event.message.clone()).collect()
}

#[test]
fn credentials_are_tried_in_turn() {
    play(|| async {
        let mut stage = stage(&[("web", &["old", "key", "spare"])]);
        stage.want(&[&user("web", PullPolicy::IfNotPresent)]);
        stage
            .until("pulled", SOON * 2, |view| view.ready("web"))
            .await;
        let tried = stage.world.read(|state| state.keys.tried.clone());
        let passwords: Vec<&str> = tried.iter().map(|(_, password)| &**password).collect();
        assert_eq!(passwords, ["old", "key"]);
        let ends = stage.world.read(|state| state.keys.ends.clone());
        assert!(
            matches!(&ends[..], [(_, PullEnd::Pulled { credential: Some(used), .. })] if used.password == "key"),
            "{ends:?}"
        );
        assert!(told(&stage, "Pulled")[0].ends_with("Image size: 1 bytes."));
    });
}

/// A pod whose public image mounts the private one.
fn mounter(policy: PullPolicy) -> WantedPod {
    pod("web")
        .container("main")
        .image("example.com/app:1", PullPolicy::IfNotPresent)
        .image_volume("data", PRIVATE, policy)
        .build()
}

fn tried(stage: &Stage) -> Vec<String> {
    let tried = stage.world.read(|state| state.keys.tried.clone());
    tried.iter().map(|(image, _)| image.to_string()).collect()
}

#[test]
fn an_image_volume_comes_first_and_with_the_credentials_of_the_pod() {
    play(|| async {
        let mut stage = stage(&[("web", &["key"])]);
        stage.want(&[&mounter(PullPolicy::IfNotPresent)]);
        stage
            .until("runs", SOON * 2, |view| view.ready("web"))
            .await;
        assert_eq!(tried(&stage), [PRIVATE, "example.com/app:1"]);
    });
}

#[test]
fn a_container_waits_for_an_image_volume_that_cannot_be_pulled() {
    play(|| async {
        let mut stage = stage(&[("web", &["bad"])]);
        stage.want(&[&mounter(PullPolicy::Always)]);
        stage
            .until("refused", SOON * 2, |view| {
                view.pod("web").is_some_and(|pod| !pod.failures.is_empty())
            })
            .await;
        assert_eq!(waits_for(&stage, "web").unwrap().0, "ErrImagePull");
        stage.pass(Duration::from_secs(40)).await;
        let (reason, message) = waits_for(&stage, "web").unwrap();
        assert_eq!(reason, "ImagePullBackOff");
        let begin = format!("Back-off pulling image \"{PRIVATE}\": ErrImagePull: ");
        assert!(message.starts_with(&begin), "{message}");
        assert!(told(&stage, "Failed").contains(&"Error: ErrImagePull".to_owned()));
        // The container's own image is not asked for before.
        assert!(!tried(&stage).contains(&"example.com/app:1".to_owned()));
        stage.world.change(|state| {
            let keys = vec!["key".to_owned()];
            state.keys.of_pods.insert("web".to_owned(), keys)
        });
        stage
            .until("mounted", Duration::from_secs(300), |view| {
                view.ready("web")
            })
            .await;
    });
}

#[test]
fn an_image_volume_that_must_not_be_pulled_has_to_be_there() {
    play(|| async {
        let mut stage = stage(&[("web", &["key"])]);
        stage.want(&[&mounter(PullPolicy::Never)]);
        stage
            .until("refused", SOON, |view| {
                view.pod("web").is_some_and(|pod| !pod.failures.is_empty())
            })
            .await;
        let (reason, message) = waits_for(&stage, "web").unwrap();
        assert_eq!(reason, "ErrImageNeverPull");
        assert!(message.contains(PRIVATE), "{message}");
    });
}

#[test]
fn all_refusals_are_told_and_then_a_back_off() {
    play(|| async {
        let mut stage = stage(&[("web", &["a", "b"])]);
        stage.want(&[&user("web", PullPolicy::Always)]);
        stage
            .until("refused", SOON * 2, |view| {
                view.pod("web").is_some_and(|pod| !pod.failures.is_empty())
            })
            .await;
        let text = "[\"a\" is no key, \"b\" is no key]";
        assert_eq!(
            waits_for(&stage, "web").unwrap(),
            ("ErrImagePull".to_owned(), text.to_owned())
        );
        stage.pass(Duration::from_secs(40)).await;
        let (reason, message) = waits_for(&stage, "web").unwrap();
        assert_eq!(reason, "ImagePullBackOff");
        assert_eq!(
            message,
            format!("Back-off pulling image \"{PRIVATE}\": ErrImagePull: {text}")
        );
        assert_eq!(
            told(&stage, "BackOff"),
            [format!("Back-off pulling image \"{PRIVATE}\"")]
        );
        assert!(told(&stage, "Failed").contains(&"Error: ErrImagePull".to_owned()));
        assert_eq!(stage.world.read(|state| state.keys.open.len()), 0);
    });
}

#[test]
fn pulls_with_other_credentials_are_not_joined_and_do_not_wait_for_each_other() {
    play(|| async {
        let mut stage = stage(&[("poor", &["bad"]), ("rich", &["key"]), ("twin", &["key"])]);
        let policy = PullPolicy::IfNotPresent;
        let (poor, rich, twin) = (
            user("poor", policy),
            user("rich", policy),
            user("twin", policy),
        );
        stage.want(&[&poor, &rich, &twin]);
        stage
            .until("both", SOON, |view| {
                view.ready("rich") && view.ready("twin")
            })
            .await;
        // One pull for both of the same key, one for the other.
        assert_eq!(stage.world.read(|state| state.count(Verb::Pull)), 2);
        assert!(!stage.holds(|view| view.ready("poor")));
        // The image is on the node now, and still not for everybody.
        stage.pass(Duration::from_secs(60)).await;
        assert!(!stage.holds(|view| view.ready("poor")));
        // Its next pull begins with the new credentials.
        stage.world.change(|state| {
            let keys = vec!["key".to_owned()];
            state.keys.of_pods.insert("poor".to_owned(), keys)
        });
        stage
            .until("leave by record", Duration::from_secs(300), |view| {
                view.ready("poor")
            })
            .await;
    });
}

#[test]
fn who_may_not_use_an_image_does_not_learn_that_it_is_there() {
    play(|| async {
        let mut stage = stage(&[("rich", &["key"]), ("poor", &["bad"])]);
        let (rich, poor) = (
            user("rich", PullPolicy::IfNotPresent),
            user("poor", PullPolicy::Never),
        );
        stage.want(&[&rich]);
        stage.until("there", SOON, |view| view.ready("rich")).await;
        stage.want(&[&rich, &poor]);
        stage
            .until("refused", SOON, |view| {
                view.pod("poor").is_some_and(|pod| !pod.failures.is_empty())
            })
            .await;
        let (reason, message) = waits_for(&stage, "poor").unwrap();
        assert_eq!(reason, "ErrImageNeverPull");
        let text =
            format!("Container image \"{PRIVATE}\" is not present with pull policy of Never");
        assert_eq!(message, text);
    });
}

#[test]
fn a_missing_pull_secret_is_told_and_the_pull_goes_on() {
    play(|| async {
        let mut stage = stage(&[("web", &["key"])]);
        stage
            .world
            .change(|state| state.keys.missing = vec!["one".to_owned(), "two".to_owned()]);
        stage.want(&[&user("web", PullPolicy::IfNotPresent)]);
        stage.until("pulled", SOON, |view| view.ready("web")).await;
        let text = "Unable to retrieve some image pull secrets (one, two); attempting to pull the \
                    image may not succeed.";
        assert_eq!(told(&stage, "FailedToRetrieveImagePullSecret"), [text]);
    });
}

#[test]
fn a_dropped_pull_ends_on_record() {
    play(|| async {
        let mut stage = stage(&[("web", &["key"])]);
        stage.world.latency(Verb::Pull, Duration::from_secs(3600));
        stage.want(&[&user("web", PullPolicy::Always)]);
        stage
            .until("on record", SOON, |view| view.state.keys.open.len() == 1)
            .await;
        stage.want(&[]);
        stage
            .until("ended", SOON, |view| view.state.keys.open.is_empty())
            .await;
        let ends = stage.world.read(|state| state.keys.ends.clone());
        assert_eq!(ends, [(private(), PullEnd::Failed)]);
    });
}

#[test]
fn a_bad_name_is_told_as_one() {
    play(|| async {
        let mut stage = stage(&[]);
        let bad = pod("bad")
            .container("main")
            .image("Example/UP", PullPolicy::Always);
        stage.want(&[&bad.build()]);
        stage
            .until("refused", SOON, |view| {
                view.pod("bad").is_some_and(|pod| !pod.failures.is_empty())
            })
            .await;
        assert_eq!(waits_for(&stage, "bad").unwrap().0, "InvalidImageName");
        assert_eq!(stage.world.read(|state| state.count(Verb::Pull)), 0);
    });
}
