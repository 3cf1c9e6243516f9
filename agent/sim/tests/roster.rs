//! Who may start, who has to wait, who is stopped.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::time::Duration;

use agent_core::Phase;
use agent_loops::Area;
use agent_loops::ports::SourceProblem;
use agent_sim::{Fault, FaultKind, Script, Stage, Verb, play, pod};

const SOON: Duration = Duration::from_secs(5);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_pod_without_devices_waits_with_the_reason_and_starts_when_they_are_free() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let first = pod("first").container("main").gpus(6).build();
        let second = pod("second").container("main").gpus(4).build();
        let small = pod("small").container("main").gpus(2).build();
        stage.want(&[&first, &second, &small]);
        stage
            .until("small passes", SOON, |view| {
                view.ready("first") && view.ready("small")
            })
            .await;
        let waits = stage.holds(|view| {
            let status = view.status("second").unwrap();
            assert_eq!(
                (status.phase, status.reason.as_str()),
                (Phase::Pending, "DevicesBusy")
            );
            assert_eq!(status.message, "4 asked, 2 free");
            true
        });
        assert!(waits);
        stage.want(&[&second, &small]);
        stage
            .until("second", SOON, |view| view.ready("second"))
            .await;
        stage.assert_fine();
    });
}

#[test]
fn a_pod_that_can_never_fit_says_so_and_starts_when_the_node_grows() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let nine = pod("nine").container("main").gpus(9).build();
        stage.want(&[&nine]);
        stage
            .until("refused", SOON, |view| {
                view.status("nine")
                    .is_some_and(|status| status.reason == "DevicesInsufficient")
            })
            .await;
        assert!(
            stage
                .events()
                .iter()
                .any(|event| event.reason == "DevicesInsufficient")
        );
        stage.world.set_devices(16);
        stage.until("runs", SOON, |view| view.ready("nine")).await;
    });
}

#[test]
fn a_pod_of_the_same_name_starts_only_after_the_old_one_is_gone() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        stage.world.script("main", &[Script::stubborn()]);
        let old = pod("web").grace(seconds(20)).container("main").build();
        let new = pod("web").uid("new").container("main").build();
        stage.want(&[&old]);
        stage.until("old", SOON, |view| view.ready("web")).await;
        stage.want(&[&new]);
        stage
            .until("new waits", SOON, |view| {
                view.board
                    .get(&new.want.uid)
                    .is_some_and(|pod| pod.status.reason == "WaitingForName")
            })
            .await;
        stage.pass(seconds(15)).await;
        stage.holds(|view| {
            assert_eq!(view.state.sandboxes.len(), 1, "the new pod has not begun");
            true
        });
        stage
            .until("new", seconds(10), |view| {
                view.board
                    .get(&new.want.uid)
                    .is_some_and(|pod| pod.status.ready)
            })
            .await;
        stage
            .until("old is gone", SOON, |view| view.is_gone(&old.want.uid))
            .await;
        stage.assert_fine();
    });
}

#[test]
fn of_two_manifests_with_one_name_the_first_runs_and_the_second_is_told() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let first = pod("web").container("main").build();
        let second = pod("web").uid("second").container("main").build();
        stage.want(&[&first, &second]);
        stage
            .until("first", SOON, |view| {
                view.board
                    .get(&first.want.uid)
                    .is_some_and(|pod| pod.status.ready)
            })
            .await;
        stage.holds(|view| {
            assert_eq!(view.board[&second.want.uid].status.reason, "NameTaken");
            true
        });
        assert!(
            stage
                .events()
                .iter()
                .any(|event| event.reason == "NameTaken")
        );
        stage.want(&[&second]);
        stage
            .until("second", SOON, |view| {
                view.board
                    .get(&second.want.uid)
                    .is_some_and(|pod| pod.status.ready)
            })
            .await;
        stage.assert_fine();
    });
}

#[test]
fn strangers_and_left_overs_are_cleared_away_only_after_the_source_has_reported() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let stays = pod("stays").container("main").gpus(2).build();
        let goes = pod("goes").container("main").gpus(2).build();
        stage.want(&[&stays, &goes]);
        stage
            .until("both", SOON, |view| {
                view.ready("stays") && view.ready("goes")
            })
            .await;
        stage.crash();
        // Left by a pod of which nothing else is known.
        let lost = pod("lost").build().want.uid.clone();
        stage
            .world
            .change(|state| state.prepared.insert(lost.clone()));
        // Holds devices, and nothing else is left of it.
        let ghost = pod("ghost").build().want.uid.clone();
        stage
            .world
            .change(|state| state.held.insert(ghost.clone(), Vec::new()));
        stage.unreport();
        stage.boot();
        stage.pass(seconds(300)).await;
        assert_eq!(stage.pending(), ["pod sources"]);
        stage.holds(|view| {
            assert_eq!(view.state.containers.len(), 2, "nothing is stopped");
            assert_eq!(view.state.held.len(), 3, "nothing is given back");
            assert!(view.state.prepared.contains(&lost), "nothing is cleaned");
            true
        });
        stage.want(&[&stays]);
        stage
            .until("cleared", seconds(60), |view| {
                [&goes.want.uid, &lost, &ghost]
                    .iter()
                    .all(|uid| view.is_gone(uid))
                    && view.ready("stays")
            })
            .await;
        assert!(stage.pending().is_empty());
        stage.assert_fine();
    });
}

#[test]
fn fifty_pods_start_a_few_at_a_time_in_the_order_of_the_source() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        // Names do not sort in this order.
        let pods: Vec<_> = (0..50)
            .map(|number| {
                pod(&format!("pod-{}", (number * 7) % 50))
                    .container("main")
                    .build()
            })
            .collect();
        stage.want(&pods.iter().collect::<Vec<_>>());
        stage
            .until("all run", seconds(60), |view| {
                let starting = view
                    .state
                    .sandboxes
                    .values()
                    .filter(|sandbox| view.state.running(&sandbox.uid).next().is_none());
                assert!(starting.count() <= 4, "more than four start at once");
                view.board.len() == 50 && view.board.values().all(|pod| pod.status.ready)
            })
            .await;
        let order = stage.world.read(|state| {
            let calls = state
                .calls
                .iter()
                .filter(|call| call.verb == Verb::RunSandbox);
            calls
                .map(|call| call.uid.clone().unwrap())
                .collect::<Vec<_>>()
        });
        let wanted: Vec<_> = pods.iter().map(|pod| pod.want.uid.clone()).collect();
        assert_eq!(order, wanted);
    });
}

#[test]
fn hung_sandboxes_give_their_slots_back() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let hung: Vec<_> = (0..4)
            .map(|number| pod(&format!("hung-{number}")).container("main").build())
            .collect();
        for pod in &hung {
            stage
                .world
                .fault(Fault::hang(Verb::RunSandbox, &pod.want.uid));
        }
        let good: Vec<_> = (0..20)
            .map(|number| pod(&format!("good-{number}")).container("main").build())
            .collect();
        stage.want(&hung.iter().chain(&good).collect::<Vec<_>>());
        // 10 s until the slots come back, then five rounds of four.
        stage
            .until("all good ones run", seconds(15), |view| {
                good.iter().all(|pod| view.ready(&pod.want.name.name))
            })
            .await;
        stage.world.heal();
        stage
            .until("the hung ones, too", seconds(200), |view| {
                hung.iter().all(|pod| view.ready(&pod.want.name.name))
            })
            .await;
        stage.assert_fine();
    });
}

#[test]
fn pods_that_hang_again_and_again_do_not_push_others_back() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let name = |kind: &str, number: u32| format!("{kind}-{number}");
        let bad: Vec<_> = (0..4)
            .map(|number| pod(&name("bad", number)).container("main").build())
            .collect();
        for pod in &bad {
            let (uid, kind) = (Some(pod.want.uid.clone()), FaultKind::FailLate(seconds(11)));
            stage.world.fault(Fault {
                verb: Verb::RunSandbox,
                uid,
                times: u32::MAX,
                kind,
            });
        }
        let good: Vec<_> = (0..100)
            .map(|number| pod(&name("good", number)).container("main").build())
            .collect();
        stage.want(&bad.iter().chain(&good).collect::<Vec<_>>());
        stage
            .until("all good ones run", seconds(30), |view| {
                good.iter().all(|pod| view.ready(&pod.want.name.name))
            })
            .await;
        let order = stage.world.read(|state| {
            let calls = state
                .calls
                .iter()
                .filter(|call| call.verb == Verb::RunSandbox);
            calls.map(|call| call.uid.clone()).collect::<Vec<_>>()
        });
        let first: BTreeSet<_> = order.iter().take(104).collect();
        assert_eq!(
            first.len(),
            104,
            "second tries stand at the end of the line"
        );
    });
}

#[test]
fn problems_of_the_source_are_shown_until_they_are_solved() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let good = pod("good").container("main").build();
        let problem = SourceProblem {
            path: "/manifests/bad.yaml".into(),
            message: "line 3: unknown field".to_owned(),
            running_on: Some(good.want.name.clone()),
        };
        stage.report(&[&good], vec![problem]);
        stage.until("good", SOON, |view| view.ready("good")).await;
        let board = stage.telling().unwrap().problems.subscribe();
        let shown = board
            .borrow()
            .get(&Area::Source("rehearsal"))
            .unwrap()
            .clone();
        assert_eq!(shown[0].subject, "/manifests/bad.yaml");
        let text = "line 3: unknown field; pod default/good goes on from the last good content";
        assert_eq!(shown[0].message, text);
        stage.want(&[&good]);
        stage.pass(seconds(1)).await;
        assert!(board.borrow().is_empty());
        assert!(
            stage
                .events()
                .iter()
                .any(|event| event.reason == "ProblemSolved")
        );
    });
}
