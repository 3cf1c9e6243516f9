//! Sandboxes that are missing, dead, doubled or without address.

use crate::testing::{Scene, at, observation};
use crate::{Fail, Life, Outcome};

#[test]
fn broken_sandboxes_are_replaced() {
    let table = [
        // pod, runtime, waves when all succeeds
        (
            "main:c",
            "s0-",
            "Image c, Sandbox 1 | Create c.0 in s1, RemoveSandbox s0 | Start c.0",
        ),
        (
            "main:c",
            "s0- c.0",
            "Stop c.0 by 30 | Image c, Sandbox 1, Read c.0 | Create c.1 in s1 | Start c.1",
        ),
        (
            "main:c",
            "s0 s1 c.0",
            "Stop c.0 by 30 | StopSandbox s1, StopSandbox s0, Read c.0 | Image c, Sandbox 2 \
             | Create c.1 in s2, RemoveSandbox s0 | Start c.1",
        ),
        (
            "main:c",
            "s0!",
            "StopSandbox s0 | Image c, Sandbox 1 | Create c.0 in s1, RemoveSandbox s0 | Start c.0",
        ),
        (
            "main:c",
            "s0h",
            "StopSandbox s0 | Image c, Sandbox 1 | Create c.0 in s1, RemoveSandbox s0 | Start c.0",
        ),
        ("hostnet main:c", "s0h c.0", ""),
        (
            "init:i main:c",
            "s0- i.0=0 c.0=137",
            "Image i, Sandbox 1 | Create i.1 in s1 | Start i.1",
        ),
        (
            "onfailure init:i main:c main:d",
            "s0- i.0=0 c.0=0 d.0=137",
            "Image i, Sandbox 1 | Create i.1 in s1 | Start i.1",
        ),
        // A main container that is over does not run again.
        (
            "onfailure main:c main:d",
            "s0- c.0=0 d.0=137",
            "Image d, Sandbox 1 | Create d.1 in s1 | Start d.1",
        ),
        // Nothing left to start: no new sandbox.
        ("onfailure main:c", "s0- c.0=0", "Clean"),
        ("never main:c", "s0- c.0=137", "Clean"),
    ];
    for (pod, runtime, waves) in table {
        let mut scene = Scene::running(pod, runtime);
        assert_eq!(scene.play(0), waves, "{pod}: {runtime}");
        assert_eq!(scene.wave(0), "", "{pod}: {runtime} is idle afterwards");
    }
}

#[test]
fn an_old_sandbox_goes_when_it_is_empty() {
    let scene = Scene::running("main:c", "s0- s1 c.0");
    assert_eq!(scene.wave(0), "RemoveSandbox s0");
    let mut scene = Scene::running("main:c", "s0- s1 c.0");
    scene.memory.stopped.clear();
    assert_eq!(scene.wave(0), "StopSandbox s0");
    // It holds the last dead instance, which is kept.
    let scene = Scene::running("main:c", "s0- c.0=1 s1 c.1");
    assert_eq!(scene.wave(0), "");
}

#[test]
fn details_are_awaited_before_they_are_asked_for() {
    let mut scene = Scene::running("main:c", "s0?");
    let early = crate::Time(at(0).0 + 1);
    assert_eq!(crate::testing::words(&scene.plan(early)), "Image c");
    scene.end(0, "Image c", Outcome::Image("c".into()));
    assert_eq!(scene.plan(early).wake, Some(crate::Time(100_000_000)));
    assert_eq!(scene.wave(1), "Inspect");
    // A runtime that cannot tell is not asked in a loop.
    scene.end(
        1,
        "Inspect",
        Outcome::Observed(Box::new(observation(1, "s0?"))),
    );
    assert_eq!(
        (scene.wave(1).as_str(), scene.plan(at(1)).wake),
        ("", Some(at(2)))
    );
    scene.end(
        2,
        "Inspect",
        Outcome::Observed(Box::new(observation(2, "s0"))),
    );
    assert_eq!(scene.wave(2), "Create c.0 in s0");
}

#[test]
fn a_sandbox_in_the_making_is_not_made_twice() {
    let mut scene = Scene::running("main:c", "s0-");
    scene.begin(0);
    scene.see(1, "s0-");
    assert_eq!(scene.wave(1), "Image c, Sandbox 1");
    scene.end(
        2,
        "Sandbox 1",
        Outcome::Failed(Fail::retry("FailedCreatePodSandBox", "no CNI")),
    );
    assert_eq!(scene.wave(2), "Image c, Inspect");
    assert_eq!(scene.plan(at(2)).life, Life::Waiting);
    scene.see(3, "s0- s1");
    assert_eq!(
        scene.wave(3),
        "Image c, RemoveSandbox s0",
        "it had been made"
    );
}

#[test]
fn a_container_in_the_making_is_awaited_before_its_sandbox_goes() {
    let mut scene = Scene::running("main:c", "s0");
    scene.end(0, "Image c", Outcome::Image("c".into()));
    scene.begin(0);
    scene.see(1, "s0-");
    scene.memory.stopped.clear();
    assert_eq!(scene.wave(1), "");
    scene.end(
        2,
        "Create c.0 in s0",
        Outcome::Failed(Fail::gone("CreateContainerError", "no s0")),
    );
    assert_eq!(scene.wave(2), "Sandbox 0");
}
