//! Starting: devices, host, sandbox, init containers, sidecars, main containers.

use crate::testing::{Scene, at, id};
use crate::{DeviceState, Fail, Life, Outcome, ProbeKind, ProbeResults, Why};

/// Everything succeeds: the waves from nothing to a running pod.
#[test]
fn waves_of_a_start() {
    let table = [
        (
            "main:c",
            "Prepare, Image c | Sandbox 0 | Create c.0 in s0 | Start c.0",
        ),
        (
            "main:c+gpu",
            "Hold, Prepare, Image c | Sandbox 0 | Create c.0 in s0 | Start c.0",
        ),
        (
            "main:a main:b",
            "Prepare, Image a, Image b | Sandbox 0 | Create a.0 in s0, Create b.0 in s0 \
             | Start a.0, Start b.0",
        ),
        (
            "main:c+post",
            "Prepare, Image c | Sandbox 0 | Create c.0 in s0 | Start c.0 | PostStart c.0",
        ),
        (
            "side:p main:c",
            "Prepare, Image p | Sandbox 0 | Create p.0 in s0 | Start p.0 | Image c \
             | Create c.0 in s0 | Start c.0",
        ),
        // The init container runs, nothing more starts.
        (
            "init:i main:c",
            "Prepare, Image i | Sandbox 0 | Create i.0 in s0 | Start i.0",
        ),
    ];
    for (pod, waves) in table {
        let mut scene = Scene::pod(pod);
        assert_eq!(scene.play(0), waves, "{pod}");
        assert_eq!(scene.wave(1), "", "{pod} is idle afterwards");
        assert_eq!(scene.plan(at(1)).life, Life::Running, "{pod}");
    }
}

#[test]
fn init_containers_run_in_order() {
    let table = [
        // pod, runtime, wave
        ("init:a init:b main:c", "s0 a.0", ""),
        ("init:a init:b main:c", "s0 a.0=0", "Image b"),
        ("init:a init:b main:c", "s0 a.0=0 b.0=0", "Image c"),
        ("init:a init:b main:c", "s0 b.0=0", "Image c"),
        ("init:a init:b main:c", "s0 a.0=1", "Image a"),
        ("onfailure init:a main:c", "s0 a.0=1", "Image a"),
        // A sidecar lets the next one start when it is started, and is kept running.
        ("init:a side:p init:b main:c", "s0 a.0=0 p.0", "Image b"),
        ("init:a side:p init:b main:c", "s0 a.0=0 p.0=1", "Image p"),
        (
            "init:a side:p init:b main:c",
            "s0 a.0=0 p.0 b.0=0",
            "Image c",
        ),
        ("side:p init:b main:c", "s0 p.0=0 b.0", "Image p"),
        ("side:p+startup main:c", "s0 p.0", ""),
        ("side:p+post main:c", "s0 p.0", "Image c"),
        // Once a main container exists in the sandbox only sidecars matter.
        ("init:a side:p main:c", "s0 c.0", "Image p"),
        ("init:a side:p main:c", "s0 a.0=1 p.0 c.0", ""),
        ("never init:a main:c", "s0 c.0", ""),
        // In a new sandbox they run again, whatever they did in the old one.
        ("init:a main:c", "s0- a.0=0 c.0=0 s1", "Image a"),
        ("onfailure init:a main:c", "s0- a.0=0 c.0=1 s1", "Image a"),
    ];
    for (pod, runtime, wave) in table {
        assert_eq!(
            Scene::running(pod, runtime).wave(0),
            wave,
            "{pod}: {runtime}"
        );
    }
}

#[test]
fn an_init_container_counts_on_in_a_new_sandbox() {
    let mut scene = Scene::running("init:a main:c", "s0- a.0=0 c.0=0 s1");
    assert_eq!(scene.play(0), "Image a | Create a.1 in s1 | Start a.1");
}

#[test]
fn a_sidecar_gates_with_its_startup_probe() {
    let mut scene = Scene::running("side:p+startup+live+ready main:c", "s0 p.0");
    let kinds = |scene: &Scene| -> Vec<ProbeKind> {
        scene
            .plan(at(0))
            .probing
            .into_iter()
            .map(|each| each.kind)
            .collect()
    };
    assert_eq!(kinds(&scene), [ProbeKind::Startup]);
    scene.probes.insert(
        id("p.0"),
        ProbeResults {
            startup: Some(true),
            ..Default::default()
        },
    );
    assert_eq!(scene.wave(0), "Image c");
    assert_eq!(kinds(&scene), [ProbeKind::Liveness, ProbeKind::Readiness]);
    scene.probes.insert(
        id("p.0"),
        ProbeResults {
            startup: Some(false),
            ..Default::default()
        },
    );
    assert_eq!(scene.wave(0), "Stop p.0 by 30");
    assert_eq!(kinds(&scene), []);
}

#[test]
fn a_pod_that_waits_for_devices_gets_no_sandbox() {
    let waiting = DeviceState::Waiting {
        reason: "GpusBusy",
        message: "0 of 1 free".into(),
    };
    let mut scene = Scene::pod("main:c+gpu");
    assert_eq!(scene.begin(0).life, Life::Waiting);
    scene.end(0, "Hold", Outcome::Devices(waiting));
    scene.end(0, "Prepare", Outcome::Prepared { refresh_at: None });
    scene.end(0, "Image c", Outcome::Image("c".into()));
    let plan = scene.plan(at(1));
    assert_eq!(
        (plan.wave.len(), plan.life, plan.wake),
        (0, Life::Waiting, None)
    );
    assert_eq!(plan.status.reason, "GpusBusy");
    // Devices changed: asked again, and the image is made sure of again.
    scene.memory.devices_changed = true;
    assert_eq!(scene.wave(5), "Hold");
    scene.begin(5);
    scene.end(5, "Hold", Outcome::Devices(DeviceState::Held));
    assert_eq!(scene.wave(6), "Image c, Sandbox 0");
}

#[test]
fn a_change_while_devices_are_asked_for_is_not_lost() {
    let waiting = || DeviceState::Waiting {
        reason: "GpusBusy",
        message: String::new(),
    };
    let mut scene = Scene::running("main:c+gpu", "");
    scene.memory.devices = waiting();
    scene.memory.devices_changed = true;
    scene.begin(0);
    scene.memory.devices_changed = true;
    scene.end(1, "Hold", Outcome::Devices(waiting()));
    assert_eq!(scene.wave(1), "Hold, Image c");
}

#[test]
fn a_refused_static_pod_waits_and_an_api_pod_fails() {
    let refused = || DeviceState::Refused {
        reason: "NeverFits",
        message: "9 of 8".into(),
    };
    let mut scene = Scene::running("main:c+gpu", "");
    scene.memory.devices = refused();
    assert_eq!(
        (scene.wave(0).as_str(), scene.plan(at(0)).life),
        ("", Life::Waiting)
    );
    let mut scene = Scene::running("api main:c+gpu", "");
    scene.memory.devices = refused();
    assert_eq!(scene.play(0), "Release, Clean");
    assert_eq!(scene.plan(at(0)).life, Life::Finished);
}

#[test]
fn failed_actions_wait_for_their_time() {
    let mut scene = Scene::running("main:c", "");
    scene
        .memory
        .images
        .insert(crate::testing::container("c"), "c".into());
    let mut fail = |now: u64, fail: Fail| {
        scene.end(now, "Sandbox 0", Outcome::Failed(fail));
        // It may have been made all the same: a look tells.
        assert_eq!(scene.wave(now), "Inspect");
        scene.see(now, "");
        let plan = scene.plan(at(now));
        assert_eq!(
            (plan.wave.len(), plan.status.reason.as_str()),
            (0, "FailedCreatePodSandBox")
        );
        plan.wake
    };
    for (now, next) in [(1, 2), (2, 4), (4, 8), (8, 16), (16, 26), (26, 36)] {
        assert_eq!(
            fail(now, Fail::retry("FailedCreatePodSandBox", "busy")),
            Some(at(next))
        );
    }
    let bad = Fail::permanent("FailedCreatePodSandBox", "bad");
    assert_eq!(fail(36, bad), Some(at(46)));
    assert_eq!(scene.wave(46), "Sandbox 0");
}

#[test]
fn failed_pulls_back_off_to_five_minutes() {
    let mut scene = Scene::running("main:c", "s0");
    let mut now = 0;
    for delay in [10, 20, 40, 80, 160, 300, 300] {
        scene.end(
            now,
            "Image c",
            Outcome::Failed(Fail::retry("ErrImagePull", "no route")),
        );
        assert_eq!(scene.plan(at(now)).wake, Some(at(now + delay)));
        now += delay;
    }
}

#[test]
fn an_image_that_vanished_is_fetched_again() {
    let mut scene = Scene::running("main:c", "s0");
    scene.end(0, "Image c", Outcome::Image("c".into()));
    let fail = Fail::retry("CreateContainerError", "image not found");
    scene.end(0, "Create c.0 in s0", Outcome::Failed(fail));
    assert_eq!(scene.wave(0), "Image c");
    scene.end(0, "Image c", Outcome::Image("c".into()));
    assert_eq!(
        (scene.wave(0).as_str(), scene.plan(at(0)).wake),
        ("", Some(at(1)))
    );
    assert_eq!(scene.wave(1), "Create c.0 in s0");
}

#[test]
fn one_thing_at_a_time_per_container() {
    let mut scene = Scene::running("main:c", "s0");
    scene.end(0, "Image c", Outcome::Image("c".into()));
    scene.begin(0);
    // The runtime's event is faster than the answer to the call.
    scene.see(1, "s0 c.0+");
    assert_eq!(scene.wave(1), "Create c.0 in s0");
    scene.end(1, "Create c.0 in s0", Outcome::Container(id("c.0")));
    assert_eq!(scene.wave(1), "Start c.0");
}

#[test]
fn after_a_restart_of_the_agent_nothing_is_touched() {
    let mut scene = Scene::pod("init:a side:p+post+startup main:c+gpu+live+ready");
    scene.see(0, "s0? a.0=0 p.0 c.3 c.2=1");
    scene.memory = crate::PodMemory::adopt(&scene.have, at(100));
    // Devices and host are made sure of again; details of the first cheap look are asked for.
    assert_eq!(scene.wave(100), "Hold, Prepare, Read a.0, Read c.2");
    assert_eq!(
        scene.wave(101),
        "Hold, Prepare, Inspect, Read a.0, Read c.2"
    );
    let waves = scene.play(101);
    assert!(
        !waves.contains("Create") && !waves.contains("Stop"),
        "{waves}"
    );
    let status = scene.status(102);
    assert!(status.ready && status.initialized, "{status:#?}");
    assert_eq!(scene.wave(102), "");
}

#[test]
fn causes_are_told() {
    let why = |scene: &Scene| {
        scene
            .plan(at(0))
            .wave
            .into_iter()
            .map(|step| step.why)
            .next()
    };
    assert_eq!(why(&Scene::pod("main:c")), Some(Why::PodStarts));
    let crashed = Scene::running("main:c", "s0 c.0=3");
    assert_eq!(
        why(&crashed),
        Some(Why::ContainerRestarts { exit_code: Some(3) })
    );
    let broken = Scene::running("main:c", "s0-");
    assert_eq!(
        why(&broken),
        Some(Why::SandboxBroken {
            what: "it is not ready"
        })
    );
}
