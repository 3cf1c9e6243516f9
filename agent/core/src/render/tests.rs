#![allow(clippy::unwrap_used, clippy::expect_used)]
//! Statuses: phase, conditions, container states.

use crate::testing::{Scene, at, container, id};
use crate::{
    Action, Backoff, ContainerState, ContainerStatus, DeviceState, Fail, Outcome, ProbeResults,
};

/// A container's state as text: `run`, `wait Reason`, `end 0`, with `<1` for the end before,
/// `R` ready, `S` started and `#2` restarts.
fn word(status: &ContainerStatus) -> String {
    let state = match &status.state {
        ContainerState::Running { .. } => "run".into(),
        ContainerState::Waiting { reason, .. } => format!("wait {reason}"),
        ContainerState::Terminated(end) => format!("end {} {}", end.exit_code, end.reason),
    };
    let last = status
        .last
        .as_ref()
        .map(|end| format!(" <{}", end.exit_code))
        .unwrap_or_default();
    let flags = [(status.ready, " R"), (status.started, " S")];
    let flags: String = flags
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, flag)| *flag)
        .collect();
    let count = if status.restart_count > 0 {
        format!(" #{}", status.restart_count)
    } else {
        String::new()
    };
    format!("{state}{last}{flags}{count}")
}

/// `Phase ready initialized: containers`.
fn words(scene: &Scene, seconds: u64) -> String {
    let status = scene.status(seconds);
    let flags = [
        (status.ready, " ready"),
        (status.initialized, " initialized"),
    ];
    let flags: String = flags
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, flag)| *flag)
        .collect();
    let all: Vec<_> = status
        .init
        .iter()
        .chain(&status.containers)
        .map(word)
        .collect();
    format!("{:?}{flags}: {}", status.phase, all.join(", "))
}

/// Pod | runtime | status. A container that has ended and is about to start again has no reason for
/// waiting yet; an end whose exit code is not known is no failure.
const STATUSES: &str = "
    main:c                     |                | Pending initialized: wait ContainerCreating
    main:c                     | s0             | Pending initialized: wait ContainerCreating
    main:c                     | s0 c.0+        | Pending initialized: wait ContainerCreating
    main:c                     | s0 c.0         | Running ready initialized: run R S
    main:c+ready               | s0 c.0         | Running initialized: run S
    main:c+startup             | s0 c.0         | Running initialized: run
    main:c                     | s0 c.2 c.1=3   | Running ready initialized: run <3 R S #2
    main:c                     | s0 c.0=1       | Running initialized: end 1 Error
    onfailure main:c           | s0 c.0=0       | Succeeded initialized: end 0 Completed
    onfailure main:c           | s0 c.0=1       | Running initialized: end 1 Error
    never main:c               | s0 c.0=1       | Failed initialized: end 1 Error
    never main:c main:d        | s0 c.0=1 d.0   | Running initialized: end 1 Error, run R S
    never main:c main:d        | s0 c.0=1 d.0=0 | Failed initialized: end 1 Error, end 0 Completed
    never main:c+always main:d | s0 c.0=1 d.0=0 | Running initialized: end 1 Error, end 0 Completed
    never main:c               | s0 c.0=?       | Running initialized: run
    main:c                     | s0 c.0~        | Running initialized: end 137 ContainerStatusUnknown
    init:i main:c              |                | Pending: wait PodInitializing, wait PodInitializing
    init:i main:c              | s0 i.0         | Pending: run S, wait PodInitializing
    init:i main:c              | s0 i.0=0       | Pending initialized: end 0 Completed R, wait PodInitializing
    init:i main:c              | s0 i.0=1       | Pending: end 1 Error, wait PodInitializing
    never init:i main:c        | s0 i.0=1       | Failed: end 1 Error, wait PodInitializing
    init:i main:c              | s0 i.0=0 c.0   | Running ready initialized: end 0 Completed R, run R S
    init:i main:c              | s0 c.0         | Running ready initialized: end 0 Completed R, run R S
    side:p main:c              | s0 p.0         | Pending initialized: run R S, wait PodInitializing
    side:p+startup main:c      | s0 p.0         | Pending: run, wait PodInitializing
    side:p main:c              | s0 p.0 c.0     | Running ready initialized: run R S, run R S
    side:p+startup main:c      | s0 p.0 c.0     | Running initialized: run, run R S
    side:p+ready main:c        | s0 p.0 c.0     | Running initialized: run S, run R S
    side:p main:c              | s0 p.0=1 c.0   | Running initialized: end 1 Error, run R S
    never side:p main:c        | s0 p.0 c.0=0   | Running initialized: run R S, end 0 Completed
    never side:p main:c        | s0 p.0=1 c.0=0 | Succeeded initialized: end 1 Error, end 0 Completed
";

#[test]
fn statuses() {
    for line in STATUSES.trim().lines() {
        let [pod, runtime, status] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert_eq!(words(&Scene::running(pod, runtime), 0), status, "{line}");
    }
}

#[test]
fn probes_make_ready() {
    let mut scene = Scene::running("main:c+startup+ready", "s0 c.0");
    let mut set = |startup, readiness| {
        scene.probes.insert(
            id("c.0"),
            ProbeResults {
                startup,
                readiness,
                liveness: None,
            },
        );
        words(&scene, 0)
    };
    assert_eq!(set(None, Some(true)), "Running initialized: run");
    assert_eq!(set(Some(true), Some(false)), "Running initialized: run S");
    assert_eq!(
        set(Some(true), Some(true)),
        "Running ready initialized: run R S"
    );
    // A container that was running before the agent stays ready until a probe says otherwise.
    scene.memory.adopted.push(id("c.0"));
    scene.probes.clear();
    assert_eq!(words(&scene, 0), "Running ready initialized: run R S");
    scene.probes.insert(
        id("c.0"),
        ProbeResults {
            readiness: Some(false),
            ..Default::default()
        },
    );
    assert_eq!(words(&scene, 0), "Running initialized: run S");
}

fn waiting(scene: &Scene, seconds: u64) -> (String, String) {
    match &scene.status(seconds).containers[0].state {
        ContainerState::Waiting { reason, message } => (reason.clone(), message.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn crash_loops_are_told_as_the_stock_kubelet_does() {
    let mut scene = Scene::running("main:c", "s0 c.4=1");
    let delay = std::time::Duration::from_secs(160);
    scene.memory.backoff.insert(
        container("c"),
        Backoff {
            delay,
            stepped_at: at(0),
        },
    );
    assert_eq!(
        words(&scene, 1),
        "Running initialized: wait CrashLoopBackOff <1 #4"
    );
    let message = "back-off 2m40s restarting failed container=c pod=pod_default(uid)";
    assert_eq!(waiting(&scene, 1).1, message);
    assert_eq!(
        words(&scene, 160),
        "Running initialized: end 1 Error #4",
        "it is about to start"
    );
}

#[test]
fn failures_are_told_as_reasons() {
    let mut scene = Scene::running("main:c", "s0");
    scene.end(
        0,
        "Image c",
        Outcome::Failed(Fail::retry("ErrImagePull", "no route")),
    );
    assert_eq!(
        waiting(&scene, 0),
        ("ErrImagePull".into(), "no route".into())
    );
    scene.end(
        10,
        "Image c",
        Outcome::Failed(Fail::retry("ErrImagePull", "no route")),
    );
    let message = "Back-off pulling image \"c:1\": ErrImagePull: no route";
    assert_eq!(
        waiting(&scene, 10),
        ("ImagePullBackOff".into(), message.into())
    );
    scene.end(
        30,
        "Image c",
        Outcome::Failed(Fail::permanent("ErrImageNeverPull", "not here")),
    );
    assert_eq!(waiting(&scene, 30).0, "ErrImageNeverPull");
    scene.end(100, "Image c", Outcome::Image("image".into()));
    scene.end(
        100,
        "Create c.0 in s0",
        Outcome::Failed(Fail::retry("CreateContainerError", "no")),
    );
    assert_eq!(waiting(&scene, 100).0, "CreateContainerError");
}

#[test]
fn a_pod_that_waits_says_for_what() {
    let mut scene = Scene::running("main:c+gpu", "");
    let message = || "2 GPUs wanted, 1 free".to_owned();
    scene.memory.devices = DeviceState::Waiting {
        reason: "GpusBusy",
        message: message(),
    };
    let status = scene.status(0);
    assert_eq!(
        (status.reason.as_str(), status.message),
        ("GpusBusy", message())
    );
    // An API pod that can never be served fails.
    let mut scene = Scene::running("api main:c+gpu", "");
    scene.memory.devices = DeviceState::Refused {
        reason: "NeverFits",
        message: message(),
    };
    let status = scene.status(0);
    assert_eq!(
        words(&scene, 0),
        "Failed initialized: wait ContainerCreating"
    );
    assert_eq!(
        status.message,
        "Pod was rejected: Allocate failed due to NeverFits: 2 GPUs wanted, 1 free, which is unexpected"
    );
}

#[test]
fn what_a_container_wrote_outranks_what_the_runtime_says() {
    let mut scene = Scene::running("never main:c", "s0 c.0=1");
    scene
        .memory
        .messages
        .insert(id("c.0"), "out of beans".into());
    let ContainerState::Terminated(end) = &scene.status(0).containers[0].state else {
        panic!()
    };
    assert_eq!(end.message, "out of beans");
}

#[test]
fn an_instance_that_vanished_is_told() {
    let mut scene = Scene::running("never main:c", "s0 c.1 c.0=1");
    scene.see(5, "s0");
    assert_eq!(
        words(&scene, 5),
        "Failed initialized: end 137 ContainerStatusUnknown #1"
    );
    let mut scene = Scene::running("main:c", "s0 c.1");
    scene.see(5, "s0");
    scene.play(5);
    assert_eq!(
        words(&scene, 6),
        "Running ready initialized: run <137 R S #2"
    );
}

#[test]
fn an_api_pod_that_stops_ends_whatever_its_policy() {
    let mut scene = Scene::running("api always main:c main:d", "s0 c.0=0 d.0=0");
    scene.stop(0, None);
    assert_eq!(
        words(&scene, 0),
        "Succeeded initialized: end 0 Completed, end 0 Completed"
    );
    let mut scene = Scene::running("api always main:c main:d", "s0 c.0=0 d.0=143");
    scene.stop(0, None);
    assert_eq!(
        words(&scene, 0),
        "Failed initialized: end 0 Completed, end 143 Error"
    );
}

#[test]
fn addresses_stay_known() {
    let mut scene = Scene::running("main:c", "s0 c.0");
    assert_eq!(scene.status(0).ips, ["10.0.0.9"]);
    scene.see(1, "s0- c.0=?");
    assert_eq!(scene.status(1).ips, ["10.0.0.9"]);
}

#[test]
fn a_pod_nobody_names_is_shown_as_it_is() {
    let mut scene = Scene::running("main:c", "s0 c.1 c.0=1 d.0=?");
    scene.want = None;
    let names: Vec<_> = scene
        .status(0)
        .containers
        .iter()
        .map(|each| each.name.to_string())
        .collect();
    assert_eq!(names, ["c", "d"]);
    assert_eq!(words(&scene, 0), "Running initialized: run <1 S #1, run");
    assert!(!scene.running.contains(&Action::HoldDevices));
}
