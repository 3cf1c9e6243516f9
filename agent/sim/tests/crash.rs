//! The agent crashes at every moment around every call that changes something, and is started again.
//!
//! Whatever the moment: at most one live instance of a container, no device is given back under a
//! live container, the same end is reached as without a crash, and nothing is left in the end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use agent_core::{Phase, RestartPolicy};
use agent_loops::ports::WantedPod;
use agent_sim::{Script, Stage, Summary, View, play, pod};

/// Longest time that anything here takes, crashes and back-offs included.
const LONG: Duration = Duration::from_secs(600);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A container and what its instances do.
type Part = (&'static str, fn() -> Vec<Script>);

/// A shape of pods and how their containers behave.
struct Shape {
    name: &'static str,
    pods: fn() -> Vec<WantedPod>,
    scripts: &'static [Part],
}

const SHAPES: &[Shape] = &[
    Shape {
        name: "plain",
        pods: || vec![pod("plain").container("main").build()],
        scripts: &[],
    },
    Shape {
        name: "devices",
        pods: || {
            let first = pod("first")
                .restart(RestartPolicy::Never)
                .container("job")
                .gpus(6)
                .build();
            vec![first, pod("second").container("main").gpus(8).build()]
        },
        scripts: &[("job", || vec![Script::ends(seconds(5), 0)])],
    },
    Shape {
        name: "init and sidecar",
        pods: || {
            let app = pod("app")
                .init("setup")
                .sidecar("proxy")
                .container("main")
                .container("aux");
            vec![app.build()]
        },
        scripts: &[("setup", || vec![Script::ends(seconds(1), 0)])],
    },
    Shape {
        name: "crashes twice",
        pods: || vec![pod("flaky").container("flaky").build()],
        scripts: &[("flaky", || {
            vec![
                Script::ends(seconds(1), 1),
                Script::ends(seconds(1), 0),
                Script::forever(),
            ]
        })],
    },
    Shape {
        name: "a sidecar outlives a stubborn main container",
        pods: || {
            vec![
                pod("app")
                    .grace(seconds(1))
                    .sidecar("proxy")
                    .container("stubborn")
                    .build(),
            ]
        },
        scripts: &[("stubborn", || vec![Script::stubborn()])],
    },
    Shape {
        name: "host network",
        pods: || vec![pod("host").host_network().container("main").build()],
        scripts: &[],
    },
    Shape {
        name: "hooks and stubborn",
        pods: || {
            let pod = pod("hooks")
                .grace(seconds(5))
                .container("main")
                .post_start("greet");
            vec![pod.pre_stop("part").container("stubborn").build()]
        },
        scripts: &[
            ("main", || {
                vec![Script::forever().command("part", seconds(1), 0)]
            }),
            ("stubborn", || vec![Script::stubborn()]),
        ],
    },
];

fn settled(view: &View<'_>, pods: &[WantedPod]) -> bool {
    pods.iter().all(|pod| {
        view.board.get(&pod.want.uid).is_some_and(|shown| {
            let done = shown.status.phase == Phase::Succeeded && shown.steps.is_empty();
            done || (shown.status.ready && shown.steps.is_empty())
        })
    })
}

/// Plays a shape from nothing to nothing. Returns the settled world and the moments that passed.
fn rehearse(shape: &Shape, crash_at: Option<u32>) -> (Summary, u32) {
    play(|| async {
        let mut stage = Stage::new();
        for (container, scripts) in shape.scripts {
            stage.world.script(container, &scripts());
        }
        if let Some(moment) = crash_at {
            stage.world.crash_at(moment);
        }
        stage.boot();
        let pods = (shape.pods)();
        stage.want(&pods.iter().collect::<Vec<_>>());
        stage
            .until("settled", LONG, |view| settled(view, &pods))
            .await;
        stage.pass(seconds(120)).await;
        stage
            .until("settled again", LONG, |view| settled(view, &pods))
            .await;
        let summary = stage.world.read(agent_sim::State::summary);
        stage.want(&[]);
        stage
            .until("all gone", LONG, |view| {
                view.board.is_empty() && view.state.summary().is_empty()
            })
            .await;
        stage.assert_fine();
        (summary, stage.world.moments())
    })
}

#[test]
fn a_crash_at_any_moment_changes_nothing_in_the_end() {
    for shape in SHAPES {
        let (expected, moments) = rehearse(shape, None);
        assert!(moments > 10, "{}: the rehearsal did something", shape.name);
        for moment in 0..moments {
            let (summary, _) = rehearse(shape, Some(moment));
            assert_eq!(
                summary, expected,
                "{}: crash at moment {moment}",
                shape.name
            );
        }
    }
}

#[test]
fn twenty_crashes_do_not_touch_running_pods() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let pods: Vec<_> = (0..8)
            .map(|number| {
                pod(&format!("pod-{number}"))
                    .container("main")
                    .gpus(1)
                    .build()
            })
            .collect();
        stage.want(&pods.iter().collect::<Vec<_>>());
        stage
            .until("all run", LONG, |view| settled(view, &pods))
            .await;
        let identities = |stage: &Stage| {
            stage.world.read(|state| {
                (
                    state.containers.keys().cloned().collect::<Vec<_>>(),
                    state.held.clone(),
                )
            })
        };
        let before = identities(&stage);
        for _ in 0..20 {
            stage.crash();
            stage.boot();
            stage
                .until("shown again", seconds(5), |view| settled(view, &pods))
                .await;
            assert_eq!(identities(&stage), before);
        }
        stage.assert_fine();
    });
}
