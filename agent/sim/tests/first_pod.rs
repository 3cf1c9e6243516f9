//! Pods start, run, restart and go.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use agent_core::{Life, Phase, RestartPolicy, RunState};
use agent_sim::{Script, Stage, Verb, play, pod};

const SOON: Duration = Duration::from_secs(5);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_pod_starts_is_ready_and_leaves_nothing_behind() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let pod = pod("web").container("main").gpus(2).build();
        stage.want(&[&pod]);
        stage.until("ready", SOON, |view| view.ready("web")).await;
        assert!(stage.pending().is_empty(), "start-up is over");
        let snapshot = stage.holds(|view| {
            let shown = view.pod("web").unwrap();
            assert_eq!(shown.status.ips, ["10.0.0.1"]);
            assert_eq!(
                shown
                    .grants
                    .iter()
                    .map(|grant| grant.devices.len())
                    .sum::<usize>(),
                2
            );
            true
        });
        assert!(snapshot);
        stage.want(&[]);
        stage
            .until("gone", SOON, |view| view.is_gone(&pod.want.uid))
            .await;
        stage.assert_fine();
        let events = stage.events();
        let reasons: Vec<_> = events.iter().map(|event| &*event.reason).collect();
        assert_eq!(reasons, ["Pulled", "Created", "Started", "Killing"]);
    });
}

#[test]
fn a_start_and_a_stop_cost_no_call_but_those_that_do_the_work() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let first = pod("first").container("main").build();
        stage.want(&[&first]);
        stage.until("first", SOON, |view| view.ready("first")).await;
        let made = |stage: &Stage| {
            stage.world.read(|state| {
                let calls = state.calls.iter().filter(|call| call.verb.to_runtime());
                calls.map(|call| call.verb).collect::<Vec<_>>()
            })
        };
        let before = made(&stage).len();
        let second = pod("second").container("main").build();
        stage.want(&[&first, &second]);
        stage
            .until("second", SOON, |view| view.ready("second"))
            .await;
        stage.want(&[&first]);
        stage
            .until("gone", SOON, |view| view.is_gone(&second.want.uid))
            .await;
        stage.pass(seconds(5)).await;
        let calls = made(&stage).split_off(before);
        let work = [
            Verb::RunSandbox,
            Verb::CreateContainer,
            Verb::StartContainer,
            Verb::StopContainer,
            Verb::StopSandbox,
            Verb::RemoveSandbox,
        ];
        assert_eq!(calls, work);
    });
}

#[test]
fn a_restart_of_a_container_costs_its_removal_creation_and_start() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        stage.world.script("main", &[Script::ends(seconds(1), 1)]);
        let web = pod("web").container("main").build();
        stage.want(&[&web]);
        stage
            .until("third run", seconds(40), |view| {
                view.state
                    .newest(&web.want.uid, "main")
                    .is_some_and(|each| each.attempt == 2)
            })
            .await;
        stage.pass(seconds(5)).await;
        let count = |verb| stage.world.read(|state| state.count(verb));
        assert_eq!(
            (count(Verb::CreateContainer), count(Verb::StartContainer)),
            (3, 3)
        );
        assert_eq!((count(Verb::RemoveContainer), count(Verb::Observe)), (2, 0));
        assert_eq!(count(Verb::RunSandbox), 1);
    });
}

#[test]
fn an_idle_node_makes_no_call_but_the_slow_listing() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let pods: Vec<_> = (0..50)
            .map(|number| pod(&format!("pod-{number}")).container("main").build())
            .collect();
        stage.want(&pods.iter().collect::<Vec<_>>());
        stage
            .until("all run", seconds(60), |view| {
                view.board.len() == 50 && view.board.values().all(|pod| pod.status.ready)
            })
            .await;
        stage.pass(seconds(120)).await;
        let before = stage.world.read(|state| state.calls.len());
        stage.pass(seconds(600)).await;
        let calls = stage
            .world
            .read(|state| state.calls.clone())
            .split_off(before);
        assert!(
            calls.iter().all(|call| call.verb == Verb::List),
            "{calls:?}"
        );
        assert_eq!(calls.len(), 10, "one listing a minute");
    });
}

#[test]
fn restart_policies_and_the_crash_back_off() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        stage
            .world
            .script("crasher", &[Script::ends(seconds(1), 1)]);
        stage.world.script("worker", &[Script::ends(seconds(1), 0)]);
        let again = pod("again").container("crasher").build();
        let once = pod("once")
            .restart(RestartPolicy::Never)
            .container("worker")
            .build();
        let fails = pod("fails")
            .restart(RestartPolicy::Never)
            .container("crasher")
            .build();
        stage.want(&[&again, &once, &fails]);
        stage
            .until("ends", SOON, |view| {
                view.status("once")
                    .is_some_and(|status| status.phase == Phase::Succeeded)
                    && view
                        .status("fails")
                        .is_some_and(|status| status.phase == Phase::Failed)
            })
            .await;
        // 10 s, 20 s, 40 s between the first four restarts.
        stage.pass(seconds(90)).await;
        let attempt = stage
            .world
            .read(|state| state.newest(&again.want.uid, "crasher").unwrap().attempt);
        assert_eq!(attempt, 4);
        stage
            .until("back-off is shown", SOON, |view| {
                let status = view.status("again").unwrap();
                format!("{:?}", status.containers).contains("CrashLoopBackOff")
            })
            .await;
        let told = stage.events();
        let back_off = told.iter().find(|event| event.reason == "BackOff").unwrap();
        assert!(
            back_off
                .message
                .starts_with("Back-off restarting failed container crasher in pod")
        );
        let dead = stage.world.read(|state| {
            let of_pod = state
                .containers
                .values()
                .filter(|each| each.uid == again.want.uid);
            of_pod.filter(|each| each.state == RunState::Exited).count()
        });
        assert_eq!(dead, 1, "one dead instance is kept");
        stage.assert_fine();
    });
}

#[test]
fn a_deadline_ends_a_pod_once_and_a_finished_pod_never() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        stage.world.script("worker", &[Script::ends(seconds(2), 0)]);
        stage.world.script("stubborn", &[Script::stubborn()]);
        stage.world.script("proxy", &[Script::stubborn()]);
        let never = |name| pod(name).restart(RestartPolicy::Never).deadline(seconds(5));
        let done = never("done").container("worker").build();
        let late = never("late")
            .grace(seconds(10))
            .sidecar("proxy")
            .container("stubborn")
            .build();
        stage.want(&[&done, &late]);
        stage
            .until("it runs", SOON, |view| view.ready("late"))
            .await;
        // The deadline, the grace period that all share, and 2 s for the sidecar's kill.
        stage.pass(seconds(18)).await;
        assert!(stage.holds(|view| view.state.running(&late.want.uid).next().is_none()));
        stage.pass(seconds(300)).await;
        stage.holds(|view| {
            let status = view.status("done").unwrap();
            assert_eq!(
                (status.phase, status.reason.as_str()),
                (Phase::Succeeded, "")
            );
            let status = view.status("late").unwrap();
            assert_eq!(
                (status.phase, status.reason.as_str()),
                (Phase::Failed, "DeadlineExceeded")
            );
            assert!(view.board.values().all(|pod| pod.life == Life::Finished));
            assert!(
                view.state.prepared.is_empty(),
                "what a finished pod had is given back"
            );
            true
        });
        let told = stage.events().into_iter();
        let told: Vec<String> = told
            .filter(|event| event.reason == "DeadlineExceeded")
            .map(|event| event.message.clone())
            .collect();
        assert_eq!(
            told,
            ["Pod was active on the node longer than the specified deadline"]
        );
        stage.want(&[]);
        stage
            .until("gone", SOON, |view| view.state.summary().is_empty())
            .await;
        stage.assert_fine();
    });
}

#[test]
fn a_pod_on_the_host_network_has_the_addresses_of_the_node() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let host = pod("host").host_network().container("main").build();
        stage.want(&[&host]);
        stage.until("ready", SOON, |view| view.ready("host")).await;
        stage.holds(|view| {
            assert_eq!(view.status("host").unwrap().ips, ["10.1.1.1"]);
            true
        });
        stage.assert_fine();
    });
}

#[test]
fn init_containers_run_in_order_and_sidecars_end_last() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        stage.world.script("setup", &[Script::ends(seconds(2), 0)]);
        let pod = pod("app")
            .init("setup")
            .gpus(8)
            .sidecar("proxy")
            .container("main")
            .gpus(8)
            .build();
        stage.want(&[&pod]);
        stage
            .until("ready", seconds(10), |view| view.ready("app"))
            .await;
        let order = stage.world.read(|state| {
            let mut all: Vec<_> = state.containers.values().collect();
            all.sort_by_key(|container| container.started_at);
            assert_eq!(state.held[&pod.want.uid].len(), 2);
            all.iter()
                .map(|container| container.name.to_string())
                .collect::<Vec<_>>()
        });
        assert_eq!(order, ["setup", "proxy", "main"]);
        stage.want(&[]);
        stage
            .until("proxy is stopped after main", SOON, |view| {
                let state = |name| {
                    view.state
                        .newest(&pod.want.uid, name)
                        .map(|each| each.state)
                };
                assert!(
                    !(state("proxy") == Some(RunState::Exited)
                        && state("main") == Some(RunState::Running))
                );
                view.is_gone(&pod.want.uid)
            })
            .await;
        stage.assert_fine();
    });
}
