//! Random histories: pods come and go, things break, the agent crashes; then all is healed, and the
//! world has to be as it should.
//!
//! `GPULET_HISTORIES` sets how many are played (32 if not set).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use agent_core::{Phase, RestartPolicy, RunState};
use agent_loops::ports::WantedPod;
use agent_sim::{Fault, FaultKind, Script, Stage, Verb, Weather, play, pod};
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

/// Long enough for every back-off and for the stock grace period.
const LONG: Duration = Duration::from_secs(1200);

/// Names in use; with two UIDs each.
const NAMES: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    Want {
        name: usize,
        second: bool,
        shape: usize,
    },
    Drop {
        name: usize,
    },
    Pass(u64),
    Crash,
    CrashIn(u32),
    Kill {
        index: usize,
        code: i32,
    },
    BreakStreams,
    Down(bool),
    Weather {
        lose_every: u32,
        delay: u64,
        doubled: bool,
    },
    Fault {
        verb: Verb,
        lost: bool,
    },
    Hang {
        verb: Verb,
    },
    Devices(u32),
}

fn verbs() -> impl Strategy<Value = Verb> {
    prop::sample::select(vec![
        Verb::RunSandbox,
        Verb::CreateContainer,
        Verb::StartContainer,
        Verb::StopContainer,
        Verb::StopSandbox,
        Verb::RemoveSandbox,
        Verb::RemoveContainer,
        Verb::PreparePod,
        Verb::PrepareContainer,
        Verb::CleanPod,
        Verb::RemoveLogs,
        Verb::Observe,
        Verb::List,
        Verb::Image,
        Verb::Pull,
        Verb::Events,
    ])
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..NAMES, any::<bool>(), 0..SHAPES.len())
            .prop_map(|(name, second, shape)| Step::Want { name, second, shape }),
        3 => (0..NAMES).prop_map(|name| Step::Drop { name }),
        6 => (1u64..40_000).prop_map(Step::Pass),
        2 => Just(Step::Crash),
        3 => (0u32..20).prop_map(Step::CrashIn),
        3 => (0usize..8, 0i32..2).prop_map(|(index, code)| Step::Kill { index, code }),
        1 => Just(Step::BreakStreams),
        1 => any::<bool>().prop_map(Step::Down),
        1 => (0u32..4, 0u64..5000, any::<bool>())
            .prop_map(|(lose_every, delay, doubled)| Step::Weather { lose_every, delay, doubled }),
        3 => (verbs(), any::<bool>()).prop_map(|(verb, lost)| Step::Fault { verb, lost }),
        1 => verbs().prop_map(|verb| Step::Hang { verb }),
        1 => (4u32..12).prop_map(Step::Devices),
    ]
}

type Shape = fn(agent_sim::PodBuilder) -> agent_sim::PodBuilder;

const SHAPES: &[Shape] = &[
    |pod| pod.container("main"),
    |pod| pod.container("main").gpus(3).container("aux").gpus(1),
    |pod| {
        pod.init("setup")
            .gpus(2)
            .sidecar("proxy")
            .container("main")
            .gpus(2)
    },
    |pod| pod.restart(RestartPolicy::Never).container("job"),
    |pod| {
        pod.grace(Duration::from_secs(8))
            .container("stubborn")
            .post_start("greet")
            .pre_stop("part")
    },
    |pod| pod.container("flaky"),
];

async fn play_history(steps: &[Step]) {
    let mut stage = Stage::new();
    stage
        .world
        .script("setup", &[Script::ends(Duration::from_secs(2), 0)]);
    stage
        .world
        .script("job", &[Script::ends(Duration::from_secs(7), 0)]);
    stage.world.script(
        "flaky",
        &[Script::ends(Duration::from_secs(3), 1), Script::forever()],
    );
    let stubborn = Script::stubborn().command("part", Duration::from_secs(3), 0);
    stage.world.script(
        "stubborn",
        &[stubborn.command("greet", Duration::from_millis(200), 0)],
    );
    stage.boot();
    let mut wanted: Vec<Option<WantedPod>> = vec![None; NAMES];
    stage.want(&[]);
    for step in steps {
        perform(&mut stage, &mut wanted, step).await;
    }
    stage.world.heal();
    stage.world.set_devices(64);
    // Calls that hang end with their own deadline.
    stage.pass(Duration::from_secs(130)).await;
    let pods: Vec<_> = wanted.iter().flatten().collect();
    stage
        .until("settled", LONG, |view| {
            view.board.len() == pods.len()
                && pods.iter().all(|pod| {
                    view.board.get(&pod.want.uid).is_some_and(|shown| {
                        (shown.status.ready
                            || shown.status.phase == Phase::Succeeded
                            || shown.status.phase == Phase::Failed)
                            && shown.steps.is_empty()
                    })
                })
                && view
                    .state
                    .summary()
                    .keys()
                    .all(|uid| pods.iter().any(|pod| pod.want.uid == *uid))
        })
        .await;
    stage.want(&[]);
    stage
        .until("all gone", LONG, |view| {
            view.board.is_empty() && view.state.summary().is_empty()
        })
        .await;
    stage.assert_fine();
}

async fn perform(stage: &mut Stage, wanted: &mut [Option<WantedPod>], step: &Step) {
    let world = stage.world.clone();
    match step {
        Step::Want {
            name,
            second,
            shape,
        } => {
            let uid = format!("uid-{name}-{second}-{shape}");
            let pod = SHAPES[*shape](pod(&format!("pod-{name}")).uid(&uid));
            wanted[*name] = Some(pod.build());
            stage.want(&wanted.iter().flatten().collect::<Vec<_>>());
        }
        Step::Drop { name } => {
            wanted[*name] = None;
            stage.want(&wanted.iter().flatten().collect::<Vec<_>>());
        }
        Step::Pass(milliseconds) => stage.pass(Duration::from_millis(*milliseconds)).await,
        Step::Crash => {
            stage.crash();
            stage.boot();
        }
        Step::CrashIn(moments) => world.crash_at(world.moments() + moments),
        Step::Kill { index, code } => {
            let running = world.read(|state| {
                let running = state
                    .containers
                    .iter()
                    .filter(|(_, each)| each.state == RunState::Running);
                running.map(|(id, _)| id.clone()).collect::<Vec<_>>()
            });
            if let Some(id) = running.get(*index) {
                world.end(id, *code);
            }
        }
        Step::BreakStreams => world.break_streams(),
        Step::Down(down) => world.runtime_down(*down),
        Step::Weather {
            lose_every,
            delay,
            doubled,
        } => world.weather(Weather {
            supported: true,
            lose_every: *lose_every,
            delay: Duration::from_millis(*delay),
            doubled: *doubled,
        }),
        Step::Fault { verb, lost } => {
            world.fault(if *lost {
                Fault::lost_reply(*verb)
            } else {
                Fault::once(*verb)
            });
        }
        Step::Hang { verb } => {
            world.fault(Fault {
                verb: *verb,
                uid: None,
                times: 1,
                kind: FaultKind::Hang,
            });
        }
        Step::Devices(devices) => world.set_devices(*devices),
    }
}

#[test]
fn any_history_ends_well() {
    let cases = std::env::var("GPULET_HISTORIES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(32);
    let persistence = FileFailurePersistence::WithSource("regressions");
    let config = Config {
        cases,
        failure_persistence: Some(Box::new(persistence)),
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let result = runner.run(&prop::collection::vec(step(), 1..30), |steps| {
        play(|| play_history(&steps));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
