//! What only pods of an API server have: ephemeral containers, ends that are known already, contents
//! that change, restarts of all containers.

use crate::testing::{Scene, at, id};
use crate::{Fail, Life, Outcome, Phase, SandboxId, Stop, StopWhy};

#[test]
fn an_ephemeral_container_runs_once_whatever_the_others_do() {
    let table = [
        (
            "main:c ephemeral:e",
            "s0 c.0",
            "Image e | Create e.0 in s0 | Start e.0",
        ),
        // It has ended, well or badly, and is not run again.
        ("main:c ephemeral:e", "s0 c.0 e.0=0", "Read e.0"),
        ("always main:c ephemeral:e", "s0 c.0 e.0=1", "Read e.0"),
        // The pod need not be initialized.
        (
            "init:a main:c ephemeral:e",
            "s0 a.0",
            "Image e | Create e.0 in s0 | Start e.0",
        ),
        ("main:c ephemeral:e", "s0 c.0 e.0", ""),
    ];
    for (pod, runtime, waves) in table {
        let mut scene = Scene::running(pod, runtime);
        scene.memory.messages.remove(&id("e.0"));
        assert_eq!(scene.play(0), waves, "{pod}: {runtime}");
    }
}

#[test]
fn an_ephemeral_container_does_not_keep_a_pod_from_its_end() {
    let scene = Scene::running("never main:c ephemeral:e", "s0 c.0=0 e.0");
    assert_eq!(scene.wave(0), "Stop e.0 by 30");
    assert_eq!(scene.status(0).phase, Phase::Succeeded);
    let mut scene = Scene::running("main:c ephemeral:e", "s0 c.0 e.0");
    scene.stop(0, None);
    assert_eq!(scene.wave(0), "Stop c.0 by 30, Stop e.0 by 30");
}

#[test]
fn a_pod_that_ended_before_this_agent_is_not_run_again() {
    for (pod, phase) in [
        ("over:well main:c", Phase::Succeeded),
        ("over:badly main:c", Phase::Failed),
    ] {
        let mut scene = Scene::pod(pod);
        assert_eq!(scene.play(0), "Clean", "{pod}");
        assert_eq!(scene.plan(at(0)).life, Life::Finished, "{pod}");
        let status = scene.status(0);
        assert_eq!((status.phase, status.reason.as_str()), (phase, "Earlier"));
        // What still runs of it is ended.
        assert_eq!(Scene::running(pod, "s0 c.0").wave(0), "Stop c.0 by 30");
    }
}

#[test]
fn a_container_counts_on_from_what_the_api_tells() {
    let mut scene = Scene::pod("init:a main:c");
    let want = scene.want.as_mut().expect("a manifest");
    want.restarts.insert(crate::ContainerName::new("c"), 4);
    scene.play(0);
    scene.see(1, "s0 a.0=0");
    assert_eq!(scene.wave(1), "Image c, Read a.0");
    assert!(scene.play(1).contains("Create c.5 in s0"));
}

#[test]
fn a_runtime_that_cannot_remove_a_dead_sandbox_does_not_keep_a_deleted_pod() {
    for (why, life) in [
        (StopWhy::Deleted, Life::Done),
        (StopWhy::Stranger, Life::Cleaning),
    ] {
        let mut scene = Scene::running("main:c", "s0 c.0=0");
        scene.stop(0, None);
        scene.stop = scene.stop.map(|stop| Stop { why, ..stop });
        scene.memory.stopped.insert(SandboxId::new("s0"));
        (scene.memory.host_cleaned, scene.memory.logs_removed) = (true, true);
        for seconds in [0, 10, 20] {
            assert_eq!(
                scene.begin(seconds).life,
                Life::Cleaning,
                "{why:?} {seconds}"
            );
            let refused = Fail::retry("RemovePodSandboxError", "cannot delete running task");
            scene.end(seconds, "RemoveSandbox s0", Outcome::Failed(refused));
        }
        assert_eq!(scene.plan(at(21)).life, life, "{why:?}");
    }
}

#[test]
fn contents_of_volumes_are_renewed_when_they_change_and_before_they_expire() {
    let mut scene = Scene::running("main:c", "s0 c.0");
    assert_eq!(scene.wave(0), "");
    scene.memory.references_changed = true;
    assert_eq!(scene.wave(0), "Refresh");
    scene.begin(0);
    // A change that comes while they are written is not lost.
    scene.memory.references_changed = true;
    let refresh_at = Some(at(480));
    scene.end(1, "Refresh", Outcome::Prepared { refresh_at });
    assert_eq!(scene.wave(1), "Refresh");
    scene.begin(1);
    scene.end(2, "Refresh", Outcome::Prepared { refresh_at });
    let plan = scene.plan(at(2));
    assert_eq!((plan.wave.len(), plan.wake), (0, Some(at(480))));
    assert_eq!(scene.wave(480), "Refresh");
    // Nothing is written for a pod that ends.
    scene.stop(481, None);
    assert_eq!(scene.wave(481), "Stop c.0 by 511");
}

#[test]
fn one_exit_code_restarts_all_containers_in_their_sandbox() {
    let pod = "never init:a side:p main:c main:t+all:42";
    let mut scene = Scene::running(pod, "s0 a.0=0 p.0 c.0 t.0=42");
    assert!(scene.status(0).restarting_all);
    // No hooks, no grace; those that asked go last, so that nobody forgets the request half way.
    assert_eq!(scene.wave(0), "Stop p.0 by 0, Stop c.0 by 0");
    assert_eq!(
        scene.play(0),
        "Stop p.0 by 0, Stop c.0 by 0 | Read p.0, Read c.0 | Clear c.0 | Clear a.0, Clear p.0 \
         | Clear t.0 | Image a | Create a.1 in s0 | Start a.1"
    );
    assert!(!scene.status(0).restarting_all);
    let gone = scene
        .memory
        .gone
        .get(&crate::ContainerName::new("c"))
        .expect("c is remembered");
    let exit = gone.exit.as_ref().expect("it has ended");
    assert_eq!(
        (exit.code, exit.reason.as_str()),
        (137, "RestartingAllContainers")
    );
    // Another code is the container's own affair.
    let scene = Scene::running(pod, "s0 a.0=0 p.0 c.0 t.0=1");
    assert_eq!(scene.wave(0), "");
}
