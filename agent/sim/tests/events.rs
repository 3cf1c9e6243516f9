//! The runtime watch: events missing, lost, late, doubled; streams and runtimes that break.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use agent_core::{ContainerId, PodUid};
use agent_loops::Area;
use agent_sim::{Fault, Stage, Verb, Weather, play, pod};

const SOON: Duration = Duration::from_secs(5);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn identity(stage: &Stage, uid: &PodUid) -> ContainerId {
    stage.world.read(|state| {
        let mut found = state.containers.iter().filter(|(_, each)| each.uid == *uid);
        found.next_back().unwrap().0.clone()
    })
}

/// Starts the agent with one running pod.
async fn one_pod(weather: Weather) -> (Stage, PodUid) {
    let mut stage = Stage::new();
    stage.world.weather(weather);
    stage.boot();
    let web = pod("web").container("main").build();
    stage.want(&[&web]);
    stage.until("ready", SOON, |view| view.ready("web")).await;
    (stage, web.want.uid.clone())
}

fn attempt(stage: &Stage, uid: &PodUid) -> u32 {
    stage
        .world
        .read(|state| state.newest(uid, "main").unwrap().attempt)
}

#[test]
fn a_runtime_without_events_is_listed_every_second() {
    play(|| async {
        let (mut stage, uid) = one_pod(Weather {
            supported: false,
            ..Weather::default()
        })
        .await;
        stage.pass(seconds(60)).await;
        let before = stage.world.read(|state| state.count(Verb::List));
        stage.pass(seconds(60)).await;
        let listings = stage.world.read(|state| state.count(Verb::List)) - before;
        assert!((55..=60).contains(&listings), "{listings}");
        stage.world.end(&identity(&stage, &uid), 1);
        stage
            .until("restarted", seconds(2), |view| {
                view.state.newest(&uid, "main").unwrap().attempt == 1 && view.ready("web")
            })
            .await;
        stage.want(&[]);
        stage.until("gone", SOON, |view| view.is_gone(&uid)).await;
        stage.assert_fine();
    });
}

#[test]
fn an_end_told_by_event_is_acted_on_at_once() {
    play(|| async {
        let (mut stage, uid) = one_pod(Weather::default()).await;
        let looks = stage.world.read(|state| state.count(Verb::Observe));
        stage.world.end(&identity(&stage, &uid), 1);
        stage
            .until("restarted", Duration::from_millis(200), |view| {
                view.state.newest(&uid, "main").unwrap().attempt == 1
            })
            .await;
        assert_eq!(
            stage.world.read(|state| state.count(Verb::Observe)),
            looks,
            "no extra look"
        );
    });
}

#[test]
fn an_end_that_no_event_tells_of_is_found_by_the_slow_listing() {
    play(|| async {
        let (mut stage, uid) = one_pod(Weather {
            lose_every: 1,
            ..Weather::default()
        })
        .await;
        stage.world.end(&identity(&stage, &uid), 1);
        stage
            .until("restarted", seconds(61), |view| {
                view.state.newest(&uid, "main").unwrap().attempt == 1 && view.ready("web")
            })
            .await;
        let terminated = stage.holds(|view| {
            let last = view.status("web").unwrap().containers[0]
                .last
                .clone()
                .unwrap();
            assert_eq!(last.exit_code, 1, "the exit code was looked up");
            true
        });
        assert!(terminated);
        stage.assert_fine();
    });
}

#[test]
fn late_and_doubled_events_do_no_harm() {
    play(|| async {
        let weather = Weather {
            delay: seconds(3),
            doubled: true,
            ..Weather::default()
        };
        let (mut stage, uid) = one_pod(weather).await;
        stage.pass(seconds(30)).await;
        assert_eq!(attempt(&stage, &uid), 0);
        stage.world.end(&identity(&stage, &uid), 1);
        stage
            .until("restarted", seconds(10), |view| {
                view.ready("web") && attempt_is(view, &uid, 1)
            })
            .await;
        stage.want(&[]);
        stage.until("gone", SOON, |view| view.is_gone(&uid)).await;
        stage.pass(seconds(120)).await;
        assert!(
            stage.holds(|view| view.is_gone(&uid)),
            "late events do not bring it back"
        );
        stage.assert_fine();
    });
}

fn attempt_is(view: &agent_sim::View<'_>, uid: &PodUid, attempt: u32) -> bool {
    view.state
        .newest(uid, "main")
        .is_some_and(|container| container.attempt == attempt)
}

#[test]
fn a_listing_begun_before_a_pod_was_gone_does_not_bring_it_back() {
    for again in [false, true] {
        play(|| async {
            let (mut stage, uid) = one_pod(Weather::default()).await;
            stage.world.latency(Verb::List, seconds(10));
            let listings = stage.world.read(|state| state.count(Verb::List));
            stage
                .until("a listing", seconds(61), |view| {
                    view.state.count(Verb::List) > listings
                })
                .await;
            stage.want(&[]);
            stage.until("gone", SOON, |view| view.is_gone(&uid)).await;
            let count = |stage: &Stage, verb| stage.world.read(|state| state.count(verb));
            let web = pod("web").container("main").build();
            if again {
                stage.want(&[&web]);
            }
            stage.pass(seconds(30)).await;
            assert_eq!(
                count(&stage, Verb::StopSandbox),
                1,
                "one stop for one sandbox"
            );
            assert_eq!(count(&stage, Verb::RunSandbox), 1 + usize::from(again));
            assert_eq!(stage.holds(|view| view.ready("web")), again);
            stage.assert_fine();
        });
    }
}

#[test]
fn events_of_an_earlier_life_of_a_pod_are_not_taken_for_the_new_one() {
    play(|| async {
        let weather = Weather {
            delay: seconds(1),
            ..Weather::default()
        };
        let (mut stage, uid) = one_pod(weather).await;
        stage.want(&[]);
        stage.until("gone", SOON, |view| view.is_gone(&uid)).await;
        // New events overtake the old ones, so that nothing of the new life is looked up.
        stage.world.weather(Weather::default());
        stage.want(&[&pod("web").container("main").build()]);
        stage.pass(seconds(10)).await;
        let count = |verb| stage.world.read(|state| state.count(verb));
        assert_eq!((count(Verb::RunSandbox), count(Verb::StopSandbox)), (2, 1));
        let attempts = stage.world.read(|state| {
            state
                .sandboxes
                .values()
                .map(|sandbox| sandbox.attempt)
                .collect::<Vec<_>>()
        });
        assert_eq!(attempts, [0]);
        assert!(stage.holds(|view| view.ready("web")));
    });
}

#[test]
fn what_happens_before_a_source_has_reported_is_not_missed() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        // Without an address of its own nothing of it has to be looked up.
        let web = pod("web").host_network().container("main").build();
        let uid = web.want.uid.clone();
        stage.want(&[&web]);
        stage.until("ready", SOON, |view| view.ready("web")).await;
        stage.crash();
        stage.unreport();
        stage.boot();
        stage.pass(seconds(10)).await;
        stage.world.end(&identity(&stage, &uid), 1);
        stage.pass(seconds(10)).await;
        assert_eq!(
            attempt(&stage, &uid),
            0,
            "nobody has said that it is wanted"
        );
        stage.want(&[&web]);
        stage
            .until("restarted", seconds(1), |view| attempt_is(view, &uid, 1))
            .await;
    });
}

#[test]
fn what_happens_while_the_stream_is_broken_is_found_after_it() {
    play(|| async {
        let (mut stage, uid) = one_pod(Weather::default()).await;
        let container = identity(&stage, &uid);
        stage.world.break_streams();
        stage.world.end(&container, 1);
        stage
            .until("restarted", SOON, |view| {
                view.ready("web") && attempt_is(view, &uid, 1)
            })
            .await;
        // A stream that breaks again and again does not make the agent list all the time.
        let before = stage.world.read(|state| state.count(Verb::List));
        for _ in 0..600 {
            stage.pass(Duration::from_millis(100)).await;
            stage.world.break_streams();
        }
        let listings = stage.world.read(|state| state.count(Verb::List)) - before;
        assert!(listings < 30, "{listings} listings in a minute");
    });
}

#[test]
fn a_restart_of_the_runtime_keeps_pods_and_finds_what_died() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let stays = pod("stays").container("main").build();
        let dies = pod("dies").container("main").build();
        stage.want(&[&stays, &dies]);
        stage
            .until("both", SOON, |view| {
                view.ready("stays") && view.ready("dies")
            })
            .await;
        let kept = identity(&stage, &stays.want.uid);
        stage.world.runtime_down(true);
        stage.pass(seconds(1)).await;
        let board = stage.telling().unwrap().problems.subscribe();
        assert!(board.borrow().contains_key(&Area::Runtime));
        stage.world.end(&identity(&stage, &dies.want.uid), 1);
        let new = pod("new").container("main").build();
        stage.want(&[&stays, &dies, &new]);
        stage.pass(seconds(30)).await;
        stage.world.runtime_down(false);
        stage
            .until("all well", seconds(20), |view| {
                view.ready("stays") && view.ready("new") && attempt_is(view, &dies.want.uid, 1)
            })
            .await;
        assert_eq!(identity(&stage, &stays.want.uid), kept);
        assert!(!board.borrow().contains_key(&Area::Runtime));
        stage.assert_fine();
    });
}

#[test]
fn calls_that_fail_or_lose_their_answer_are_made_good() {
    let changing = [
        Verb::RunSandbox,
        Verb::CreateContainer,
        Verb::StartContainer,
        Verb::StopContainer,
        Verb::StopSandbox,
        Verb::RemoveSandbox,
        Verb::PreparePod,
        Verb::PrepareContainer,
        Verb::CleanPod,
        Verb::RemoveLogs,
    ];
    for verb in changing {
        for (fault, lost) in [(Fault::once(verb), false), (Fault::lost_reply(verb), true)] {
            for lose_every in [0, 1] {
                play(|| async {
                    let mut stage = Stage::new();
                    stage.world.weather(Weather {
                        lose_every,
                        ..Weather::default()
                    });
                    stage.world.fault(fault.clone());
                    stage.boot();
                    let web = pod("web").container("main").gpus(1).build();
                    stage.want(&[&web]);
                    let what = format!("{verb:?}, answer lost: {lost}, events lost: {lose_every}");
                    stage
                        .until(&what, seconds(90), |view| view.ready("web"))
                        .await;
                    stage.pass(seconds(90)).await;
                    assert!(stage.holds(|view| view.ready("web")), "{what}");
                    stage.want(&[]);
                    let uid = web.want.uid.clone();
                    stage
                        .until(&what, seconds(90), |view| view.is_gone(&uid))
                        .await;
                    stage.assert_fine();
                });
            }
        }
    }
}
