//! Faults in the agent itself. One test alone in its process: the log it installs is seen by all.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agent_sim::{Stage, play, pod};
use tracing::field::{Field, Visit};
use tracing::span;

const SOON: Duration = Duration::from_secs(5);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A log that panics the first `times` times when a pod named `victim` begins an action.
struct Panicking {
    times: AtomicU32,
}

struct Victim(bool);

impl Visit for Victim {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 |= field.name() == "pod" && format!("{value:?}").contains("victim");
    }
}

impl tracing::Subscriber for Panicking {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.fields().field("action").is_some() && metadata.fields().field("why").is_some()
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut victim = Victim(false);
        event.record(&mut victim);
        let left = self.times.load(Ordering::SeqCst);
        if victim.0 && left > 0 {
            self.times.store(left - 1, Ordering::SeqCst);
            panic!("a fault in the task of a pod, on purpose");
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[test]
fn a_panic_in_the_task_of_one_pod_ends_neither_the_pod_nor_the_agent() {
    for times in 1..6 {
        let log = Panicking {
            times: AtomicU32::new(times),
        };
        tracing::subscriber::with_default(log, || {
            play(|| async {
                let mut stage = Stage::new();
                stage.boot();
                let victim = pod("victim").container("main").gpus(1).build();
                let other = pod("other").container("main").build();
                stage.want(&[&victim, &other]);
                stage
                    .until("the other one runs", SOON, |view| view.ready("other"))
                    .await;
                stage
                    .until("the victim, too", seconds(120), |view| view.ready("victim"))
                    .await;
                let told = stage.events();
                let told = told
                    .iter()
                    .find(|event| event.reason == "InternalError")
                    .unwrap();
                assert_eq!(told.count, times);
                stage.want(&[&other]);
                stage
                    .until("gone", SOON, |view| view.is_gone(&victim.want.uid))
                    .await;
                stage.assert_fine();
            });
        });
    }
}
