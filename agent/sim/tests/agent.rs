//! The end of the agent: what is under way is finished, containers stay.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use agent_core::RunState;
use agent_sim::{Fault, Script, Stage, Verb, play, pod};

const SOON: Duration = Duration::from_secs(5);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn an_agent_that_ends_finishes_calls_and_leaves_containers_alone() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let old = pod("old").container("main").build();
        stage.want(&[&old]);
        stage.until("old", SOON, |view| view.ready("old")).await;
        let new = pod("new").container("main").build();
        stage.want(&[&old, &new]);
        stage
            .until("new begins", SOON, |view| {
                view.state.count(Verb::RunSandbox) == 2
            })
            .await;
        assert!(stage.shut_down(seconds(10)).await, "ended in time");
        let sandboxes = stage.world.read(|state| state.sandboxes.len());
        assert_eq!(sandboxes, 2, "the call under way was finished");
        let calls = stage.world.read(|state| state.calls.len());
        stage.pass(seconds(300)).await;
        assert_eq!(
            stage.world.read(|state| state.calls.len()),
            calls,
            "nothing is begun any more"
        );
        let running = stage
            .world
            .read(|state| state.running(&old.want.uid).count());
        assert_eq!(running, 1);
        stage.boot();
        stage
            .until("goes on", SOON, |view| {
                view.ready("old") && view.ready("new")
            })
            .await;
        stage.assert_fine();
    });
}

#[test]
fn an_agent_that_waits_for_a_hung_call_ends_at_the_limit() {
    play(|| async {
        let mut stage = Stage::new();
        stage.boot();
        let hung = pod("hung").container("main").build();
        stage
            .world
            .fault(Fault::hang(Verb::RunSandbox, &hung.want.uid));
        stage.want(&[&hung]);
        stage
            .until("hangs", SOON, |view| {
                view.state.count(Verb::RunSandbox) == 1
            })
            .await;
        assert!(!stage.shut_down(seconds(10)).await);
        // A pull or a back-off is not waited for.
        let slow = pod("slow").container("slow").build();
        stage.world.heal();
        stage.world.script("slow", &[Script::ends(seconds(1), 1)]);
        stage.boot();
        stage.want(&[&slow]);
        stage
            .until("backs off", seconds(60), |view| {
                view.state
                    .newest(&slow.want.uid, "slow")
                    .is_some_and(|each| each.attempt == 1 && each.state == RunState::Exited)
            })
            .await;
        stage.pass(seconds(1)).await;
        let before = stage.world.clock.now();
        assert!(stage.shut_down(seconds(10)).await);
        assert!(stage.world.clock.now().since(before) < Duration::from_millis(10));
    });
}
