//! Restart policies, back-off, probes, hooks, changed definitions.

use crate::testing::{Scene, at, exit, id};
use crate::{Fail, Life, Outcome, ProbeResults, StopWhy};

#[test]
fn policies() {
    let table = [
        // pod, code, whether it starts again
        ("always main:c", 0, true),
        ("always main:c", 1, true),
        ("onfailure main:c", 0, false),
        ("onfailure main:c", 1, true),
        ("never main:c", 0, false),
        ("never main:c", 1, false),
        // The container's own policy, and its rules before that.
        ("never main:c+always", 0, true),
        ("always main:c+never", 1, false),
        ("never main:c+onfailure", 1, true),
        ("never main:c+never+rule:42", 42, true),
        ("never main:c+never+rule:42", 41, false),
    ];
    for (pod, code, again) in table {
        let scene = Scene::running(pod, &format!("s0 c.0={code}"));
        let (wave, life) = if again {
            ("Image c", Life::Running)
        } else {
            ("StopSandbox s0", Life::Cleaning)
        };
        assert_eq!(
            (scene.wave(0).as_str(), scene.plan(at(0)).life),
            (wave, life),
            "{pod}: {code}"
        );
    }
}

#[test]
fn a_failed_init_container_ends_the_pod_only_under_never() {
    let over = |pod: &str| {
        Scene::running(pod, "s0 i.0=1")
            .plan(at(0))
            .end
            .map(|end| end.why)
    };
    assert_eq!(over("never init:i main:c"), Some(StopWhy::Finished));
    assert_eq!(over("never init:i+onfailure main:c"), None);
    assert_eq!(over("onfailure init:i main:c"), None);
    assert_eq!(over("always init:i+never main:c"), Some(StopWhy::Finished));
    // What came after it tells that it had ended well, whatever became of it since.
    for runtime in ["s0 i.0=137 c.0", "s0 i.0=137 j.0"] {
        let scene = Scene::running("never init:i init:j main:c", runtime);
        assert_eq!(scene.plan(at(0)).end, None, "{runtime}");
    }
}

/// Ends the present instance now and lets the next one start as soon as it may. Returns the delay.
fn crash(scene: &mut Scene, now: &mut u64, attempt: u32) -> u64 {
    let ended = *now;
    let name = format!("c.{attempt}");
    let last = scene
        .have
        .containers
        .iter_mut()
        .find(|each| each.id == id(&name))
        .expect("there");
    last.state = crate::RunState::Exited;
    last.exit = Some(exit(ended, 1));
    scene.memory.ended.insert(id(&name), at(ended));
    if let Some(wake) = scene.plan(at(ended)).wake {
        assert!(
            !scene.play(ended).contains("Create"),
            "too early at {ended}"
        );
        *now = wake.since(at(0)).as_secs();
    }
    let waves = scene.play(*now);
    assert!(
        waves.contains(&format!("Create c.{} in s0", attempt + 1)),
        "{waves}"
    );
    *now - ended
}

#[test]
fn backoff_doubles_and_is_forgotten() {
    let mut scene = Scene::running("main:c", "s0 c.0");
    let mut now = 0;
    let delays: Vec<u64> = (0..8)
        .map(|attempt| crash(&mut scene, &mut now, attempt))
        .collect();
    assert_eq!(delays, [0, 10, 20, 40, 80, 160, 300, 300]);
    // Ten minutes of quiet are not enough, a second more is.
    now += 600;
    assert_eq!(crash(&mut scene, &mut now, 8), 300);
    now += 601;
    assert_eq!(crash(&mut scene, &mut now, 9), 0);
    assert_eq!(crash(&mut scene, &mut now, 10), 10);
}

#[test]
fn one_dead_instance_is_kept() {
    let scene = Scene::running("main:c", "s0 c.3 c.2=1 c.1=1 c.0=1");
    assert_eq!(scene.wave(0), "Remove c.1, Remove c.0");
    let scene = Scene::running("main:c main:d", "s0 c.1=1 c.0=1 d.0");
    assert_eq!(scene.wave(0), "Image c, Remove c.0");
}

#[test]
fn running_containers_are_stopped_for_a_reason() {
    let table = [
        // pod, runtime, liveness, startup, wave
        ("main:c+live", "s0 c.0", None, None, ""),
        ("main:c+live", "s0 c.0", Some(true), None, ""),
        ("main:c+live", "s0 c.0", Some(false), None, "Stop c.0 by 30"),
        (
            "main:c+live:5",
            "s0 c.0",
            Some(false),
            None,
            "Stop c.0 by 5",
        ),
        (
            "main:c+live:50",
            "s0 c.0",
            Some(false),
            None,
            "Stop c.0 by 50",
        ),
        (
            "main:c+live:5+pre",
            "s0 c.0",
            Some(false),
            None,
            "PreStop c.0 by 5",
        ),
        (
            "main:c+startup:7",
            "s0 c.0",
            None,
            Some(false),
            "Stop c.0 by 7",
        ),
        ("never main:c", "s0 c.0#", None, None, "Stop c.0 by 30"),
        ("side:p main:c", "s0 p.0# c.0", None, None, "Stop p.0 by 30"),
        ("init:i main:c", "s0 i.0#", None, None, ""),
        ("main:c", "s0 c.0~", None, None, "Stop c.0 by 30"),
        ("main:c", "s0 c.0 c.1", None, None, "Stop c.0 by 30"),
        ("main:c", "s0 c.0 c.1+", None, None, "Stop c.0 by 30"),
        ("main:c", "s0 c.0 c.1=1", None, None, "Stop c.0 by 30"),
        ("main:c", "s0- c.0 s1", None, None, "Stop c.0 by 30"),
        ("main:c", "s0 c.0 x.0", None, None, "Stop x.0 by 30"),
    ];
    for (pod, runtime, liveness, startup, wave) in table {
        let mut scene = Scene::running(pod, runtime);
        scene.probes.insert(
            id("c.0"),
            ProbeResults {
                liveness,
                startup,
                readiness: None,
            },
        );
        assert_eq!(scene.wave(0), wave, "{pod}: {runtime}");
    }
}

#[test]
fn a_begun_stop_goes_on_and_the_instance_is_replaced() {
    let mut scene = Scene::running("main:c+live+pre", "s0 c.0");
    scene.probes.insert(
        id("c.0"),
        ProbeResults {
            liveness: Some(false),
            ..Default::default()
        },
    );
    scene.begin(0);
    // The probe has recovered meanwhile.
    scene.probes.clear();
    assert_eq!(scene.wave(1), "PreStop c.0 by 30");
    scene.end(
        2,
        "PreStop c.0 by 30",
        Outcome::Failed(Fail::retry("FailedPreStopHook", "exit 1")),
    );
    assert_eq!(scene.wave(2), "Stop c.0 by 30");
    scene.begin(2);
    scene.end(4, "Stop c.0 by 30", Outcome::Done);
    // How it ended has to be known before policy can speak; an event may tell.
    assert_eq!(
        (scene.wave(4).as_str(), scene.wave(5).as_str()),
        ("", "Inspect")
    );
    scene.see(5, "s0 c.0=137");
    assert_eq!(scene.wave(5), "Image c, Read c.0");
}

#[test]
fn a_changed_definition_replaces_even_under_never() {
    let mut scene = Scene::running("never main:c", "s0 c.0#");
    scene.begin(0);
    scene.end(1, "Stop c.0 by 30", Outcome::Done);
    scene.have.containers[0].exit = Some(exit(1, 137));
    assert_eq!(scene.wave(1), "Image c, Read c.0");
    // One that ended by itself under an older definition stays as it is.
    let scene = Scene::running("never main:c", "s0 c.0=0");
    assert!(scene.plan(at(0)).end.is_some());
}

#[test]
fn a_hook_that_never_ends_is_cut_at_the_deadline() {
    let mut scene = Scene::running("main:c+live+pre", "s0 c.0");
    scene.probes.insert(
        id("c.0"),
        ProbeResults {
            liveness: Some(false),
            ..Default::default()
        },
    );
    let plan = scene.begin(0);
    assert_eq!(plan.wake, Some(at(30)));
    assert_eq!(scene.wave(29), "PreStop c.0 by 30");
    assert_eq!(scene.wave(30), "Stop c.0 by 30");
}

#[test]
fn post_start_runs_once_and_its_failure_ends_the_container() {
    let mut scene = Scene::running("main:c+post+live", "s0 c.0");
    scene.memory.post_start.clear();
    assert_eq!(scene.wave(0), "PostStart c.0");
    assert_eq!(scene.plan(at(0)).probing, [], "probes wait for the hook");
    scene.end(
        1,
        "PostStart c.0",
        Outcome::Failed(Fail::retry("PostStartHookError", "exit 1")),
    );
    assert_eq!(scene.wave(1), "Stop c.0 by 31");
    let mut scene = Scene::running("main:c+post+live", "s0 c.0");
    scene.memory.post_start.clear();
    scene.end(1, "PostStart c.0", Outcome::Done);
    assert_eq!(
        (scene.wave(1).as_str(), scene.plan(at(1)).probing.len()),
        ("", 1)
    );
}

#[test]
fn an_instance_that_vanished_counts_as_killed() {
    let table = [
        ("always main:c", "Image c"),
        ("never main:c", "StopSandbox s0"),
    ];
    for (pod, wave) in table {
        let mut scene = Scene::running(pod, "s0 c.4");
        scene.see(10, "s0");
        assert_eq!(scene.wave(10), wave, "{pod}");
    }
    let mut scene = Scene::running("main:c", "s0 c.4");
    scene.see(10, "s0");
    assert_eq!(scene.play(10), "Image c | Create c.5 in s0 | Start c.5");
}

#[test]
fn a_start_that_fails_for_good_is_looked_at_and_replaced_slowly() {
    let mut scene = Scene::running("main:c", "s0 c.0+");
    let fail = Fail::permanent("RunContainerError", "exec format error");
    scene.end(1, "Start c.0", Outcome::Failed(fail));
    assert_eq!(scene.wave(1), "Inspect");
    // The runtime still shows it as created: no hot loop of looks or of new instances.
    scene.see(2, "s0 c.0+");
    assert_eq!(
        (scene.wave(2).as_str(), scene.plan(at(2)).wake),
        ("", Some(at(11)))
    );
    assert_eq!(scene.wave(11), "Remove c.0");
    scene.see(12, "s0 c.0=128");
    assert_eq!(scene.wave(12), "Image c, Read c.0");
    let mut scene = Scene::running("main:c", "s0 c.0+");
    let fail = Fail::permanent("RunContainerError", "exec format error");
    scene.end(0, "Start c.0", Outcome::Failed(fail));
    assert_eq!(
        scene.play(10),
        "Remove c.0 | Image c | Create c.1 in s0 | Start c.1"
    );
}
