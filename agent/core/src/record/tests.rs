#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::testing::{RULES, Scene, at, container, id, observation};
use crate::*;

fn stop(name: &str, seconds: u64) -> Action {
    Action::StopContainer {
        container: container("c"),
        id: id(name),
        deadline: at(seconds),
    }
}

#[test]
fn deadlines_are_remembered_when_a_stop_begins() {
    let mut memory = PodMemory::default();
    begin(&mut memory, &stop("c.0", 30));
    begin(&mut memory, &stop("c.0", 50));
    assert_eq!(memory.stopping[&id("c.0")], at(30));
    begin(&mut memory, &stop("c.0", 10));
    assert_eq!(memory.stopping[&id("c.0")], at(10));
    memory.devices_changed = true;
    begin(&mut memory, &Action::HoldDevices);
    assert!(!memory.devices_changed);
}

#[test]
fn gone_counts_as_done_where_the_end_was_wanted() {
    let gone = || Outcome::Failed(Fail::gone("NotFound", "not found"));
    let sandbox = SandboxId::new("s0");
    let remove = Action::RemoveContainer {
        container: container("c"),
        id: id("c.0"),
        attempt: 0,
    };
    for action in [
        stop("c.0", 30),
        remove,
        Action::StopSandbox {
            id: sandbox.clone(),
        },
        Action::RemoveSandbox { id: sandbox },
        Action::CleanHost,
        Action::ReleaseDevices,
        Action::RemoveLogs,
    ] {
        let mut scene = Scene::running("main:c", "s0 c.0");
        record(
            &mut scene.have,
            &mut scene.memory,
            &action,
            gone(),
            at(1),
            &RULES,
        );
        assert!(scene.memory.failures.is_empty(), "{action:?}");
    }
    let mut scene = Scene::running("main:c", "s0 c.0");
    record(
        &mut scene.have,
        &mut scene.memory,
        &Action::PrepareHost,
        gone(),
        at(1),
        &RULES,
    );
    assert_eq!(
        scene.memory.failures.len(),
        1,
        "making something is never done that way"
    );
}

#[test]
fn failures_are_forgotten_with_success_and_with_what_they_were_about() {
    let mut scene = Scene::running("main:c", "s0 c.0");
    let fail = || Outcome::Failed(Fail::retry("KillContainerError", "time-out"));
    record(
        &mut scene.have,
        &mut scene.memory,
        &stop("c.0", 30),
        fail(),
        at(1),
        &RULES,
    );
    record(
        &mut scene.have,
        &mut scene.memory,
        &stop("c.0", 30),
        fail(),
        at(3),
        &RULES,
    );
    assert_eq!(scene.memory.failures[&stop("c.0", 30)].count, 2);
    record(
        &mut scene.have,
        &mut scene.memory,
        &stop("c.0", 30),
        Outcome::Done,
        at(5),
        &RULES,
    );
    assert!(scene.memory.failures.is_empty());
    record(
        &mut scene.have,
        &mut scene.memory,
        &stop("c.0", 30),
        fail(),
        at(6),
        &RULES,
    );
    observe(&mut scene.have, &mut scene.memory, &observation(7, "s0"));
    assert!(scene.memory.failures.is_empty(), "the container is gone");
}

#[test]
fn results_are_seen_before_the_runtime_tells() {
    let mut scene = Scene::running("main:c", "");
    scene.end(0, "Image c", Outcome::Image("image".into()));
    scene.end(0, "Sandbox 0", Outcome::Sandbox(SandboxId::new("s0")));
    assert!(scene.have.sandboxes[0].ready);
    scene.have.sandboxes[0].network = Some(SandboxNetwork {
        host: false,
        ips: vec!["::1".into()],
    });
    scene.end(0, "Create c.0 in s0", Outcome::Container(id("c.0")));
    assert!(
        scene.memory.images.is_empty(),
        "an image is made sure of for one start"
    );
    scene.end(0, "Start c.0", Outcome::Done);
    // A stale event does not take it back; a listing with an earlier begin does not remove it.
    observe(
        &mut scene.have,
        &mut scene.memory,
        &observation(0, "s0 c.0+"),
    );
    assert_eq!(scene.have.containers[0].state, RunState::Running);
    assert_eq!(
        scene.have.containers[0].hash, "hash",
        "the listing brings what was not known"
    );
}

#[test]
fn an_answer_of_the_wrong_kind_changes_nothing() {
    let mut scene = Scene::running("main:c", "s0");
    let before = (scene.have.clone(), scene.memory.clone());
    let create = Action::CreateContainer {
        container: container("c"),
        attempt: 0,
        sandbox: SandboxId::new("s0"),
    };
    for outcome in [
        Outcome::Done,
        Outcome::Text(String::new()),
        Outcome::Image("x".into()),
    ] {
        record(
            &mut scene.have,
            &mut scene.memory,
            &create,
            outcome,
            at(1),
            &RULES,
        );
    }
    assert_eq!((scene.have, scene.memory), before);
}

#[test]
fn a_new_agent_takes_over_what_runs() {
    let mut scene = Scene::running("main:c+post", "s0 c.1 c.0=1");
    scene.memory = PodMemory::adopt(&scene.have, at(500));
    let memory = &scene.memory;
    assert_eq!(memory.seen_at, at(0), "since the oldest sandbox");
    assert_eq!(memory.adopted, [id("c.1")]);
    assert_eq!(
        memory.post_start[&id("c.1")],
        Ok(()),
        "hooks do not run twice"
    );
    assert_eq!(memory.ended[&id("c.0")], at(500));
    assert_eq!(PodMemory::adopt(&PodHave::default(), at(7)).seen_at, at(7));
}

#[test]
fn only_reading_pulling_and_hooks_may_be_dropped() {
    let name = || container("c");
    assert!(Action::EnsureImage { container: name() }.cancel_safe());
    assert!(Action::InspectPod.cancel_safe());
    assert!(
        Action::PostStart {
            container: name(),
            id: id("c.0")
        }
        .cancel_safe()
    );
    for action in [
        Action::HoldDevices,
        Action::ReleaseDevices,
        Action::PrepareHost,
        stop("c.0", 1),
    ] {
        assert!(!action.cancel_safe(), "{action:?}");
    }
}

#[test]
fn a_restart_backs_off_though_the_runtime_told_of_it_first() {
    let create = Action::CreateContainer {
        container: container("c"),
        attempt: 1,
        sandbox: SandboxId::new("s0"),
    };
    for told in ["s0 c.0=7", "s0 c.1 c.0=7", "s0 c.1=7 c.0=7"] {
        let mut scene = Scene::running("main:c", told);
        let made = Outcome::Container(id("c.1"));
        record(
            &mut scene.have,
            &mut scene.memory,
            &create,
            made,
            at(1),
            &RULES,
        );
        let backoff = scene.memory.backoff.get(&container("c"));
        assert_eq!(
            backoff.map(|each| each.delay),
            Some(RULES.backoff_base),
            "{told}"
        );
    }
}
