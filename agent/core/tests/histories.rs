#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]
//! Random histories of one pod on a model runtime.
//!
//! Whatever happens: one live container per name, devices never given back under a live one, grace
//! periods that only shrink, terminal phases that stay, equal decisions on equal views; and when it
//! stops happening, the pod ends up where it should, and then nothing is done any more.

mod model;

use std::time::Duration;

use agent_core::{
    Check, ContainerName, ContainerWant, Hook, ImageName, Life, Phase, PodName, PodUid, PodWant,
    Probe, Probes, PullPolicy, ResourceName, RestartPolicy,
};
use model::{Node, State, Step};
use proptest::prelude::*;
use proptest::test_runner::Config;

fn container(name: &str) -> ContainerWant {
    ContainerWant {
        name: ContainerName::new(name),
        image: ImageName::new("image"),
        hash: "hash".into(),
        pull: PullPolicy::IfNotPresent,
        image_volumes: Vec::new(),
        restart: None,
        restart_rules: Vec::new(),
        probes: Probes::default(),
        post_start: None,
        pre_stop: None,
        devices: Vec::new(),
    }
}

fn probe() -> Option<Probe> {
    Some(Probe {
        check: Check::Exec(Vec::new()),
        initial_delay: Duration::ZERO,
        period: Duration::from_secs(10),
        timeout: Duration::from_secs(1),
        success_threshold: 1,
        failure_threshold: 3,
        grace: Some(Duration::from_secs(5)),
    })
}

/// One main container, or two init containers, two sidecars and two main ones with everything.
fn pod(restart: RestartPolicy, rich: bool, deadline: Option<u64>) -> PodWant {
    let hook = || Some(Hook::Sleep(Duration::from_secs(1)));
    let gpu = vec![(ResourceName::new("nvidia.com/gpu"), 1)];
    let mut want = PodWant {
        ephemeral: Vec::new(),
        deletion: None,
        over: None,
        needs: Default::default(),
        started_at: None,
        restarts: Default::default(),
        uid: PodUid::new("uid"),
        name: PodName::new("default", "pod"),
        is_static: true,
        host_network: false,
        restart,
        grace: Duration::from_secs(30),
        active_deadline: deadline.map(Duration::from_secs),
        init: Vec::new(),
        containers: vec![ContainerWant {
            devices: gpu,
            ..container("main")
        }],
    };
    if rich {
        let sidecar = |name| ContainerWant {
            restart: Some(RestartPolicy::Always),
            ..container(name)
        };
        want.init = vec![
            container("one"),
            ContainerWant {
                probes: Probes {
                    startup: probe(),
                    ..Probes::default()
                },
                pre_stop: hook(),
                ..sidecar("side")
            },
            container("two"),
            sidecar("car"),
        ];
        want.containers.push(ContainerWant {
            post_start: hook(),
            pre_stop: hook(),
            probes: Probes {
                liveness: probe(),
                readiness: probe(),
                startup: probe(),
            },
            ..container("more")
        });
    }
    want
}

fn any_pod() -> impl Strategy<Value = PodWant> {
    let policy = prop_oneof![
        Just(RestartPolicy::Always),
        Just(RestartPolicy::OnFailure),
        Just(RestartPolicy::Never)
    ];
    (
        policy,
        any::<bool>(),
        prop::option::weighted(0.2, 100_u64..2000),
    )
        .prop_map(|(policy, rich, deadline)| pod(policy, rich, deadline))
}

fn any_step() -> impl Strategy<Value = Step> {
    let code = prop_oneof![Just(0), Just(1), Just(137)];
    prop_oneof![
        30 => (0..4_usize).prop_map(Step::Finish),
        2 => (0..4_usize).prop_map(Step::FinishUnheard),
        2 => (0..4_usize, any::<bool>()).prop_map(|(at, permanent)| Step::Fail(at, permanent)),
        3 => (0..4_usize, code).prop_map(|(at, code)| Step::Exit(at, code)),
        1 => Just(Step::SandboxDies),
        1 => (0..6_usize).prop_map(Step::Vanish),
        4 => any::<bool>().prop_map(Step::Note),
        4 => (0..6_usize).prop_map(Step::Deliver),
        6 => any::<bool>().prop_map(Step::Look),
        4 => (0..4_usize, prop::bool::weighted(0.8)).prop_map(|(at, good)| Step::Probe(at, good)),
        4 => (0..400_u64).prop_map(Step::Pass),
        1 => any::<u8>().prop_map(Step::Crash),
        1 => prop::option::of(0..60_u64).prop_map(Step::Stop),
        1 => any::<bool>().prop_map(Step::Devices),
    ]
}

/// Where a pod must be once nothing goes wrong any more.
fn check_end(node: &mut Node) {
    let plan = node.calm();
    let live = |name: &ContainerName| {
        let of_name = node
            .runtime
            .containers
            .iter()
            .filter(|each| each.name == *name);
        of_name.filter(|each| each.state == State::Running).count()
    };
    if node.stop.is_some() {
        assert_eq!(plan.life, Life::Done);
        assert!(node.runtime.is_empty(), "{:#?}", node.runtime);
    } else if plan.end.is_some() {
        assert_eq!(plan.life, Life::Finished);
        assert_eq!(node.runtime.live(), 0);
        assert!(!node.runtime.devices_held && !node.runtime.host_dirty);
        assert!(
            matches!(plan.status.phase, Phase::Succeeded | Phase::Failed),
            "{:#?}",
            plan.status
        );
        assert!(node.runtime.sandboxes.iter().all(|each| !each.ready));
    } else {
        assert_eq!(plan.life, Life::Running, "{plan:#?}");
        assert_eq!(
            node.runtime
                .sandboxes
                .iter()
                .filter(|each| each.ready)
                .count(),
            1
        );
        assert_eq!(plan.status.phase, Phase::Running, "{:#?}", plan.status);
        for sidecar in node.want.init.iter().filter(|each| each.is_sidecar()) {
            assert_eq!(live(&sidecar.name), 1, "{}", sidecar.name);
        }
        let running: usize = node
            .want
            .containers
            .iter()
            .map(|each| live(&each.name))
            .sum();
        if node.want.restart == RestartPolicy::Always {
            assert_eq!(running, node.want.containers.len());
            assert!(plan.status.ready, "{:#?}", plan.status);
        }
        assert!(running > 0);
    }
    for container in node.want.init.iter().chain(&node.want.containers) {
        let of_name = node
            .runtime
            .containers
            .iter()
            .filter(|each| each.name == container.name);
        let dead = of_name
            .filter(|each| matches!(each.state, State::Exited(_)))
            .count();
        assert!(dead <= 1, "{dead} dead instances of {}", container.name);
    }
    if let Some(phase) = node.terminal_before.filter(|_| node.stop.is_none()) {
        assert_eq!(plan.status.phase, phase, "after a crash it ends as before");
    }
    let calls = node.runtime.calls;
    node.now = node.now.plus(Duration::from_secs(3600));
    assert!(
        node.plan().wave.is_empty(),
        "an idle pod acts: {:#?}",
        node.plan().wave
    );
    assert_eq!(node.runtime.calls, calls);
}

proptest! {
    // `PROPTEST_CASES` asks for more.
    #![proptest_config(Config {
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn any_history_ends_well(want in any_pod(), steps in prop::collection::vec(any_step(), 0..120)) {
        let mut node = Node::new(want);
        for step in &steps {
            node.take(step);
        }
        check_end(&mut node);
    }
}

/// The same script with a crash after each number of steps, with and without the effects of what
/// was in flight, ends in the same place.
#[test]
fn a_crash_at_any_moment_changes_nothing_in_the_end() {
    for policy in [
        RestartPolicy::Always,
        RestartPolicy::OnFailure,
        RestartPolicy::Never,
    ] {
        for rich in [false, true] {
            for stop in [false, true] {
                let end = |crash: Option<(usize, u8)>| {
                    let mut node = Node::new(pod(policy, rich, None));
                    for step in 0..60 {
                        if crash.is_some_and(|(at, _)| at == step) {
                            node.take(&Step::Crash(crash.map_or(0, |(_, effects)| effects)));
                        }
                        if step == 40 && stop {
                            node.take(&Step::Stop(None));
                        }
                        node.take(&Step::Finish(0));
                        node.take(&Step::Look(true));
                        let now = node.now;
                        for name in ["one", "two"] {
                            let mut init = node.runtime.containers.iter_mut();
                            if let Some(each) = init.find(|each| each.name.as_str() == name) {
                                each.end(0, now);
                            }
                        }
                        node.take(&Step::Probe(0, true));
                    }
                    let plan = node.calm();
                    let mut live: Vec<String> = node
                        .runtime
                        .containers
                        .iter()
                        .filter(|each| each.state == State::Running)
                        .map(|each| each.name.to_string())
                        .collect();
                    live.sort();
                    (
                        plan.life,
                        plan.status.phase,
                        live,
                        node.runtime.devices_held,
                    )
                };
                let undisturbed = end(None);
                for at in 0..60 {
                    for effects in [0x00, 0xff] {
                        let disturbed = end(Some((at, effects)));
                        // A removed pod shows what was left of it when the agent came back.
                        if stop {
                            assert_eq!(disturbed.0, undisturbed.0);
                        } else {
                            assert_eq!(
                                disturbed, undisturbed,
                                "{policy:?} crash at {at}, {effects:x}"
                            );
                        }
                    }
                }
            }
        }
    }
}
