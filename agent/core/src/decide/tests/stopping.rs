//! Stopping and cleaning.

use std::time::Duration;

use crate::testing::{Scene, at, id};
use crate::{Hook, Life, Outcome, Phase, ProbeKind, Recovered, Stop, StopWhy};

#[test]
fn waves_of_a_stop() {
    let table = [
        // One stop, one sandbox stop, one sandbox removal: no call more.
        (
            "main:c",
            "s0 c.0",
            "Stop c.0 by 30 | StopSandbox s0, Read c.0 | Clean, RemoveLogs | RemoveSandbox s0",
        ),
        (
            "main:c+gpu",
            "s0 c.0",
            "Stop c.0 by 30 | StopSandbox s0, Read c.0 | Release, Clean, RemoveLogs | RemoveSandbox s0",
        ),
        (
            "main:a main:b",
            "s0 a.0 b.0",
            "Stop a.0 by 30, Stop b.0 by 30 | StopSandbox s0, Read a.0, Read b.0 \
             | Clean, RemoveLogs | RemoveSandbox s0",
        ),
        (
            "main:c+pre",
            "s0 c.0",
            "PreStop c.0 by 30 | Stop c.0 by 30 | StopSandbox s0, Read c.0 \
             | Clean, RemoveLogs | RemoveSandbox s0",
        ),
        // Sidecars end after the main containers, last one first; hooks of all begin at once.
        (
            "side:p+pre side:q main:c+pre",
            "s0 p.0 q.0 c.0",
            "PreStop p.0 by 30, PreStop c.0 by 30 | Stop c.0 by 30 | Stop q.0 by 30 | Stop p.0 by 30 \
             | StopSandbox s0, Read p.0, Read q.0, Read c.0 | Clean, RemoveLogs | RemoveSandbox s0",
        ),
        // Two sandboxes, and a container in a third that is gone.
        (
            "main:c",
            "s0- c.0=1 s1 c.1",
            "Stop c.1 by 30 | StopSandbox s1, Read c.1 \
             | Clean, RemoveLogs | RemoveSandbox s1, RemoveSandbox s0",
        ),
        // Created and never started; lost by the runtime.
        (
            "main:c",
            "s0 c.0+",
            "StopSandbox s0 | Clean, RemoveLogs | RemoveSandbox s0",
        ),
        (
            "main:c",
            "s0 c.0~",
            "Stop c.0 by 30 | StopSandbox s0, Read c.0 | Clean, RemoveLogs | RemoveSandbox s0",
        ),
        ("main:c", "", "Clean, RemoveLogs"),
        ("main:c", "c.0=1", "Clean, RemoveLogs | Remove c.0"),
    ];
    for (pod, runtime, waves) in table {
        let mut scene = Scene::running(pod, runtime);
        scene.stop(0, None);
        assert_eq!(scene.play(0), waves, "{pod}: {runtime}");
        assert_eq!(scene.plan(at(0)).life, Life::Done, "{pod}: {runtime}");
    }
}

#[test]
fn the_grace_period_only_shrinks() {
    let mut scene = Scene::running("main:c+live", "s0 c.0");
    scene.probes.insert(
        id("c.0"),
        crate::ProbeResults {
            liveness: Some(false),
            ..Default::default()
        },
    );
    scene.begin(0);
    scene.stop(10, None);
    assert_eq!(
        scene.wave(10),
        "Stop c.0 by 30",
        "the stop that runs goes on"
    );
    scene.stop(12, Some(5));
    assert_eq!(scene.wave(12), "Stop c.0 by 17");
    scene.begin(12);
    scene.stop(13, Some(100));
    assert_eq!(scene.wave(13), "Stop c.0 by 17");
    let Life::Stopping { deadline, .. } = scene.plan(at(13)).life else {
        panic!()
    };
    assert_eq!(deadline, at(17));
}

#[test]
fn a_request_may_ask_for_more_than_the_manifest() {
    let mut scene = Scene::running("main:c", "s0 c.0");
    scene.stop(0, Some(90));
    assert_eq!(scene.wave(0), "Stop c.0 by 90");
}

#[test]
fn a_pod_that_finishes_while_it_stops_keeps_the_grace_of_the_request() {
    let mut scene = Scene::running("never side:p main:c", "s0 p.0 c.0");
    scene.stop(0, Some(90));
    scene.begin(0);
    scene.see(10, "s0 p.0 c.0=0");
    scene.begin(10);
    assert_eq!(scene.wave(11), "Stop p.0 by 90");
    let end = scene.memory.end.map(|end| end.why);
    assert_eq!(end, Some(StopWhy::Finished));
}

#[test]
fn no_time_no_hook() {
    let mut scene = Scene::running("main:c+pre", "s0 c.0");
    scene.stop(0, Some(0));
    assert_eq!(scene.wave(0), "Stop c.0 by 0");
    assert_eq!(crate::stop_timeout(at(0), at(0)), Duration::from_secs(2));
    assert_eq!(crate::stop_timeout(at(30), at(1)), Duration::from_secs(29));
    let just_after = crate::Time(at(1).0 + 1);
    assert_eq!(
        crate::stop_timeout(at(30), just_after),
        Duration::from_secs(29)
    );
}

#[test]
fn a_sidecar_whose_time_is_up_does_not_wait_any_more() {
    let mut scene = Scene::running("side:p main:c", "s0 p.0 c.0");
    scene.stop(0, None);
    scene.begin(0);
    assert_eq!(
        (scene.wave(29).as_str(), scene.plan(at(29)).wake),
        ("Stop c.0 by 30", Some(at(30)))
    );
    assert_eq!(scene.wave(30), "Stop p.0 by 30, Stop c.0 by 30");
    assert_eq!(scene.plan(at(31)).wake, None, "what is over wakes nobody");
}

#[test]
fn a_running_hook_goes_on_when_the_deadline_moves_closer() {
    let mut scene = Scene::running("main:c+pre", "s0 c.0");
    scene.stop(0, None);
    scene.begin(0);
    scene.stop(1, Some(4));
    assert_eq!(
        (scene.wave(4).as_str(), scene.plan(at(4)).wake),
        ("PreStop c.0 by 30", Some(at(5)))
    );
    assert_eq!(scene.wave(5), "Stop c.0 by 5");
}

#[test]
fn nothing_is_given_back_while_something_is_made() {
    let mut scene = Scene::running("main:c+gpu", "");
    scene.begin(0);
    scene.stop(1, None);
    let plan = scene.plan(at(1));
    assert!(
        plan.wave.is_empty() && matches!(plan.life, Life::Stopping { .. }),
        "{plan:?}"
    );
    scene.end(
        2,
        "Sandbox 0",
        Outcome::Sandbox(crate::SandboxId::new("s0")),
    );
    assert_eq!(scene.wave(2), "StopSandbox s0");
}

#[test]
fn how_containers_ended_is_learnt_before_they_are_removed() {
    let mut scene = Scene::running("never main:c+gpu", "s0- c.0=?");
    scene.stop(0, None);
    assert_eq!(scene.wave(0), "Release");
    assert_eq!(scene.wave(1), "Inspect, Release");
    // A runtime that cannot tell holds up nothing.
    scene.end(
        1,
        "Inspect",
        Outcome::Observed(Box::new(crate::testing::observation(1, "s0- c.0=?"))),
    );
    assert_eq!(scene.wave(1), "Release, Clean, RemoveLogs");
}

#[test]
fn a_call_that_was_not_answered_is_looked_after() {
    let mut scene = Scene::running("main:c", "");
    scene.end(
        1,
        "Sandbox 0",
        Outcome::Failed(crate::Fail::retry("Timeout", "no answer")),
    );
    scene.stop(2, None);
    assert_eq!(scene.wave(2), "Inspect", "a sandbox may be there");
    scene.see(3, "s0");
    assert!(scene.play(3).starts_with("StopSandbox s0"));
}

#[test]
fn failed_stops_are_tried_again_and_block_what_follows() {
    let mut scene = Scene::running("main:c+gpu", "s0 c.0");
    scene.stop(0, None);
    scene.begin(0);
    let fail = || Outcome::Failed(crate::Fail::retry("KillContainerError", "time-out"));
    scene.end(40, "Stop c.0 by 30", fail());
    assert_eq!(
        (scene.wave(40).as_str(), scene.plan(at(40)).wake),
        ("", Some(at(41)))
    );
    assert_eq!(scene.wave(41), "Stop c.0 by 30");
    let gone = crate::Fail::gone("KillContainerError", "not found");
    scene.end(41, "Stop c.0 by 30", Outcome::Failed(gone));
    assert_eq!(scene.wave(41), "StopSandbox s0");
}

#[test]
fn a_finished_pod_stays_visible_until_it_is_removed() {
    let mut scene = Scene::running("never side:p main:c+gpu", "s0 p.0 c.0=0");
    assert_eq!(
        scene.status(0).phase,
        Phase::Running,
        "the sidecar still runs"
    );
    assert_eq!(
        scene.play(0),
        "Stop p.0 by 30 | StopSandbox s0, Read p.0 | Release, Clean"
    );
    assert_eq!(scene.plan(at(9)).life, Life::Finished);
    assert_eq!(scene.status(9).phase, Phase::Succeeded);
    // After a restart of the agent it is given back once more, and that is all.
    scene.memory = crate::PodMemory::adopt(&scene.have, at(20));
    assert_eq!(
        scene.play(20),
        "StopSandbox s0, Read p.0, Read c.0 | Release, Clean"
    );
    assert_eq!(
        (scene.plan(at(21)).life, scene.status(21).phase),
        (Life::Finished, Phase::Succeeded)
    );
    scene.stop(30, None);
    assert_eq!(scene.play(30), "RemoveLogs | RemoveSandbox s0");
    assert_eq!(
        (scene.plan(at(31)).life, scene.status(31).phase),
        (Life::Done, Phase::Succeeded)
    );
}

#[test]
fn nothing_is_taken_for_a_pod_that_may_be_over() {
    let mut scene = Scene::pod("never main:c+gpu");
    scene.see(0, "s0- c.0=?");
    scene.memory = crate::PodMemory::adopt(&scene.have, at(10));
    assert_eq!(
        (scene.wave(10).as_str(), scene.wave(11).as_str()),
        ("", "Inspect")
    );
    scene.see(12, "s0- c.0=0");
    assert_eq!(scene.play(12), "StopSandbox s0, Read c.0 | Release, Clean");
    assert_eq!(scene.status(13).phase, Phase::Succeeded);
}

#[test]
fn the_active_deadline_ends_a_pod_for_good() {
    let mut scene = Scene::running("deadline=60 main:c", "s0 c.0");
    assert_eq!(scene.plan(at(59)).wake, Some(at(60)));
    let plan = scene.begin(60);
    assert_eq!(crate::testing::words(&plan), "Stop c.0 by 90");
    assert_eq!(
        (plan.status.phase, plan.status.reason.as_str()),
        (Phase::Failed, "DeadlineExceeded")
    );
    assert_eq!(
        scene.wave(70),
        "Stop c.0 by 90",
        "the grace period counts from the deadline"
    );
    scene.running.clear();
    scene.play(70);
    assert_eq!(
        (scene.plan(at(71)).life, scene.status(71).phase),
        (Life::Finished, Phase::Failed)
    );
    // A pod that had finished before stays as it was.
    let mut scene = Scene::running("never deadline=60 main:c", "s0 c.0=0");
    assert_eq!(
        scene.plan(at(100)).end.map(|end| end.why),
        Some(StopWhy::Finished)
    );
    scene.play(100);
    assert_eq!(scene.status(200).phase, Phase::Succeeded);
}

#[test]
fn strangers_use_what_their_containers_say() {
    let mut scene = Scene::running("main:c", "s0 c.0 d.0");
    scene.want = None;
    scene.have.containers[0].recovered = Recovered {
        grace: Some(Duration::from_secs(20)),
        pre_stop: Some(Hook::Invalid),
        ..Recovered::default()
    };
    assert_eq!(
        (scene.wave(0).as_str(), scene.plan(at(0)).life),
        ("", Life::Waiting)
    );
    scene.stop = Some(Stop {
        why: StopWhy::Stranger,
        at: at(0),
        grace: None,
    });
    scene.memory.devices = crate::DeviceState::Unasked;
    assert_eq!(
        scene.play(0),
        "PreStop c.0 by 20, Stop d.0 by 1 | Stop c.0 by 20 | StopSandbox s0 \
         | Release, Clean, RemoveLogs | RemoveSandbox s0"
    );
    assert_eq!(scene.plan(at(0)).life, Life::Done);
}

#[test]
fn readiness_is_still_probed_while_a_pod_stops() {
    let mut scene = Scene::running("main:c+live+ready", "s0 c.0");
    scene.stop(0, None);
    let kinds: Vec<_> = scene
        .plan(at(0))
        .probing
        .into_iter()
        .map(|each| each.kind)
        .collect();
    assert_eq!(kinds, [ProbeKind::Readiness]);
}
