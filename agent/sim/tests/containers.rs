//! Probes, hooks and definitions of containers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use agent_core::{Check, ContainerState, Probe, Probes, RunState};
use agent_sim::{Script, Stage, Verb, play, pod};

const SOON: Duration = Duration::from_secs(5);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn probe(check: Check) -> Probe {
    Probe {
        check,
        initial_delay: Duration::ZERO,
        period: seconds(10),
        timeout: seconds(1),
        success_threshold: 1,
        failure_threshold: 3,
        grace: None,
    }
}

fn exec(word: &str) -> Check {
    Check::Exec(vec![word.to_owned()])
}

fn reasons(stage: &Stage, reason: &str) -> Vec<(String, u32)> {
    let events = stage.events();
    let named = events.iter().filter(|event| event.reason == reason);
    named
        .map(|event| (event.message.clone(), event.count))
        .collect()
}

#[test]
fn a_failing_liveness_probe_restarts_the_container() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let sick = Script::forever().command("alive", Duration::ZERO, 1);
        stage.world.script("main", &[sick, Script::forever()]);
        let probes = Probes {
            liveness: Some(probe(exec("alive"))),
            ..Probes::default()
        };
        let web = pod("web").container("main").probes(probes).build();
        stage.want(&[&web]);
        // The first try at once, the third 20 s later.
        stage
            .until("restarted", seconds(22), |view| {
                view.state
                    .newest(&web.want.uid, "main")
                    .is_some_and(|each| each.attempt == 1)
            })
            .await;
        assert_eq!(
            reasons(&stage, "Unhealthy"),
            [("Liveness probe failed: alive says 1".to_owned(), 3)]
        );
        let killing = "Container main failed liveness probe, will be restarted".to_owned();
        assert_eq!(reasons(&stage, "Killing"), [(killing, 1)]);
        stage.pass(seconds(100)).await;
        assert_eq!(
            stage
                .world
                .read(|state| state.newest(&web.want.uid, "main").unwrap().attempt),
            1
        );
    });
}

#[test]
fn startup_gates_readiness_and_readiness_follows_the_answers() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let slow = Script::forever().command("up", seconds(2), 0);
        stage.world.script("main", &[slow]);
        let tcp = probe(Check::Tcp {
            host: None,
            port: 80,
        });
        let startup = Probe {
            timeout: seconds(5),
            ..probe(exec("up"))
        };
        let probes = Probes {
            startup: Some(startup),
            readiness: Some(tcp),
            liveness: None,
        };
        let web = pod("web").container("main").probes(probes).build();
        stage.want(&[&web]);
        stage
            .until("runs", SOON, |view| {
                view.state.running(&web.want.uid).next().is_some()
            })
            .await;
        stage.pass(seconds(1)).await;
        assert!(
            !stage.holds(|view| view.ready("web")),
            "the startup probe has not passed"
        );
        stage
            .until("ready", seconds(2), |view| view.ready("web"))
            .await;
        stage.world.change(|state| state.deaf = true);
        stage
            .until("not ready", seconds(40), |view| !view.ready("web"))
            .await;
        let text = "Readiness probe failed: tcp 10.0.0.1:80 is deaf".to_owned();
        assert_eq!(reasons(&stage, "Unhealthy"), [(text, 3)]);
        stage.world.change(|state| state.deaf = false);
        stage
            .until("ready again", seconds(11), |view| view.ready("web"))
            .await;
        let attempt = stage
            .world
            .read(|state| state.newest(&web.want.uid, "main").unwrap().attempt);
        assert_eq!(attempt, 0, "readiness restarts nothing");
    });
}

#[test]
fn a_restart_of_the_agent_does_not_flip_readiness() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let tcp = probe(Check::Tcp {
            host: None,
            port: 80,
        });
        let probes = Probes {
            readiness: Some(tcp),
            ..Probes::default()
        };
        let web = pod("web").container("main").probes(probes).build();
        stage.want(&[&web]);
        stage.until("ready", SOON, |view| view.ready("web")).await;
        for _ in 0..5 {
            stage.crash();
            stage.boot();
            stage
                .until("shown", SOON, |view| view.pod("web").is_some())
                .await;
            for _ in 0..20 {
                let waits = stage.holds(|view| {
                    let state = &view.status("web").unwrap().containers[0].state;
                    assert!(matches!(state, ContainerState::Running { .. }), "{state:?}");
                    !view.ready("web")
                });
                assert!(!waits, "not ready after a restart of the agent");
                stage.pass(seconds(1)).await;
            }
        }
        stage.assert_fine();
    });
}

#[test]
fn after_a_restart_of_the_agent_probes_do_not_come_all_at_once() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let probes = Probes {
            liveness: Some(probe(exec("alive"))),
            ..Probes::default()
        };
        let build = |number: u32| {
            pod(&format!("pod-{number}"))
                .container("main")
                .probes(probes.clone())
                .build()
        };
        let pods: Vec<_> = (0..40).map(build).collect();
        stage.want(&pods.iter().collect::<Vec<_>>());
        stage
            .until("all run", seconds(60), |view| {
                view.board.len() == 40 && view.board.values().all(|pod| pod.status.ready)
            })
            .await;
        stage.crash();
        stage.boot();
        let asked = |stage: &Stage| stage.world.read(|state| state.count(Verb::Exec));
        let before = asked(&stage);
        stage.pass(seconds(2)).await;
        let soon = asked(&stage) - before;
        stage.pass(seconds(9)).await;
        let all = asked(&stage) - before;
        assert!(
            (2..20).contains(&soon) && all >= 40,
            "{soon} in 2 s, {all} in 11 s"
        );
    });
}

#[test]
fn a_hook_longer_than_the_grace_period_is_cut_off() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let script = Script::forever().command("part", seconds(600), 0);
        stage.world.script("main", &[script]);
        let web = pod("web")
            .grace(seconds(5))
            .container("main")
            .pre_stop("part")
            .build();
        stage.want(&[&web]);
        stage.until("ready", SOON, |view| view.ready("web")).await;
        stage.want(&[]);
        stage.pass(seconds(4)).await;
        assert!(stage.holds(|view| view.state.running(&web.want.uid).next().is_some()));
        stage
            .until("gone", seconds(4), |view| view.is_gone(&web.want.uid))
            .await;
    });
}

#[test]
fn hooks_run_at_both_ends_and_inside_the_grace_period() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let script =
            Script::stubborn()
                .command("greet", seconds(3), 0)
                .command("part", seconds(4), 7);
        stage.world.script("main", &[script]);
        let web = pod("web")
            .grace(seconds(10))
            .container("main")
            .post_start("greet")
            .pre_stop("part");
        let web = web.build();
        stage.want(&[&web]);
        stage
            .until("runs", SOON, |view| {
                view.state.running(&web.want.uid).next().is_some()
            })
            .await;
        stage.pass(seconds(2)).await;
        assert!(
            !stage.holds(|view| view.ready("web")),
            "postStart is not over"
        );
        stage
            .until("ready", seconds(2), |view| view.ready("web"))
            .await;
        let asked = stage.world.clock.now();
        stage.want(&[]);
        stage
            .until("killed", seconds(12), |view| {
                view.state.running(&web.want.uid).next().is_none()
            })
            .await;
        let took = stage.world.clock.now().since(asked);
        assert!((seconds(9)..=seconds(11)).contains(&took), "{took:?}");
        assert_eq!(
            reasons(&stage, "FailedPreStopHook"),
            [("PreStopHook failed".to_owned(), 1)]
        );
        assert_eq!(
            reasons(&stage, "Killing"),
            [("Stopping container main".to_owned(), 1)]
        );
        stage
            .until("gone", SOON, |view| view.is_gone(&web.want.uid))
            .await;
        stage.assert_fine();
    });
}

#[test]
fn a_hook_right_after_a_start_of_the_agent_has_the_address() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let web = pod("web").container("main").pre_stop_http().build();
        stage.want(&[&web]);
        stage.until("ready", SOON, |view| view.ready("web")).await;
        stage.crash();
        stage.boot();
        stage
            .until("shown", SOON, |view| view.pod("web").is_some())
            .await;
        stage.want(&[]);
        stage
            .until("gone", SOON, |view| view.is_gone(&web.want.uid))
            .await;
        assert!(stage.world.read(|state| state.count(Verb::Observe)) > 0);
        stage.assert_fine();
    });
}

#[test]
fn a_failing_post_start_hook_kills_the_container() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let bad = Script::forever().command("greet", Duration::ZERO, 3);
        stage.world.script("main", &[bad, Script::forever()]);
        let web = pod("web").container("main").post_start("greet").build();
        stage.want(&[&web]);
        stage
            .until("second run", seconds(30), |view| view.ready("web"))
            .await;
        let attempt = stage
            .world
            .read(|state| state.newest(&web.want.uid, "main").unwrap().attempt);
        assert_eq!(attempt, 1);
        assert_eq!(reasons(&stage, "FailedPostStartHook").len(), 1);
    });
}

#[test]
fn a_container_with_another_definition_is_replaced() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let web = pod("web").container("main").build();
        stage.want(&[&web]);
        stage.until("ready", SOON, |view| view.ready("web")).await;
        let mut changed = (*web.want).clone();
        changed.containers[0].hash = "other".to_owned();
        let manifest = std::sync::Arc::new((*web.manifest).clone());
        let changed = agent_loops::ports::WantedPod {
            want: std::sync::Arc::new(changed),
            manifest,
        };
        stage.want(&[&changed]);
        stage
            .until("replaced", SOON, |view| {
                let newest = view.state.newest(&web.want.uid, "main").unwrap();
                newest.hash == "other" && newest.state == RunState::Running
            })
            .await;
        let text = "Container main definition changed, will be restarted".to_owned();
        assert_eq!(reasons(&stage, "Killing"), [(text, 1)]);
        stage.assert_fine();
    });
}
