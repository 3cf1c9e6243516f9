//! The agent on the world: started, crashed, started again, and waited for.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{Phase, PodStatus, PodUid, Rules};
use agent_loops::ports::{SourceProblem, SourceSnapshot, WantedPod};
use agent_loops::{Agent, AgentEvent, PodBoard, PodSnapshot, Settings, Source, Telling, start};
use base_daemon::{Drain, Readiness};
use tokio::sync::watch;

use crate::state::State;
use crate::world::World;

/// A world with an agent that can be crashed.
#[derive(Debug)]
pub struct Stage {
    /// The world.
    pub world: World,
    /// Settings of the next start.
    pub settings: Settings,
    /// What the source will say, or has said.
    source: watch::Sender<Option<SourceSnapshot>>,
    crashes: watch::Receiver<bool>,
    actor: Option<Actor>,
}

#[derive(Debug)]
struct Actor {
    agent: Agent,
    telling: Telling,
    drain: Drain,
    readiness: Readiness,
}

/// What a condition may look at.
#[derive(Debug)]
pub struct View<'a> {
    /// The world.
    pub state: &'a State,
    /// What the agent shows.
    pub board: &'a PodBoard,
}

impl View<'_> {
    /// What the agent shows of a pod.
    pub fn pod(&self, name: &str) -> Option<&PodSnapshot> {
        self.board
            .values()
            .map(|pod| &**pod)
            .find(|pod| &*pod.name.name == name)
    }

    /// Its status.
    pub fn status(&self, name: &str) -> Option<&PodStatus> {
        self.pod(name).map(|pod| &pod.status)
    }

    /// It is shown running and ready.
    pub fn ready(&self, name: &str) -> bool {
        self.status(name)
            .is_some_and(|status| status.phase == Phase::Running && status.ready)
    }

    /// Nothing of it is left anywhere.
    pub fn is_gone(&self, uid: &PodUid) -> bool {
        !self.state.summary().contains_key(uid) && !self.board.contains_key(uid)
    }
}

impl Stage {
    /// An empty world; the agent is not started, and its one source has not reported.
    pub fn new() -> Self {
        let world = World::new();
        let settings = Settings {
            rules: Rules {
                backoff_base: Duration::from_secs(10),
                backoff_cap: Duration::from_secs(300),
                device_wait: Duration::from_secs(180),
            },
            node_ips: vec![std::net::IpAddr::from([10, 1, 1, 1])],
            start_slots: 4,
            pulls: agent_loops::PullLimits {
                parallel: Some(1),
                ..Default::default()
            },
            log_interval: Duration::from_secs(10),
        };
        let crashes = world.crashes();
        Self {
            world,
            settings,
            source: watch::Sender::new(None),
            crashes,
            actor: None,
        }
    }

    /// Starts the agent.
    pub fn boot(&mut self) {
        let telling = Telling::new(self.world.clock);
        let (drain, readiness) = (Drain::default(), Readiness::default());
        let source = Source {
            name: "rehearsal",
            snapshots: self.source.subscribe(),
        };
        let doors = self.world.doors();
        let settings = self.settings.clone();
        let agent = start(doors, settings, vec![source], &telling, &readiness, &drain);
        self.actor = Some(Actor {
            agent,
            telling,
            drain,
            readiness,
        });
    }

    /// Drops the agent in the middle of whatever it does.
    pub fn crash(&mut self) {
        self.actor = None;
        self.world.bury();
    }

    /// Asks the agent to end and waits for it. False: it did not in time.
    pub async fn shut_down(&mut self, limit: Duration) -> bool {
        let Some(actor) = self.actor.take() else {
            return true;
        };
        let ended = actor.drain.finish(limit).await;
        drop(actor);
        self.world.bury();
        ended
    }

    /// The source reports these pods.
    pub fn want(&self, pods: &[&WantedPod]) {
        self.report(pods, Vec::new());
    }

    /// The source reports these pods and problems.
    pub fn report(&self, pods: &[&WantedPod], problems: Vec<SourceProblem>) {
        let pods = pods.iter().map(|pod| (*pod).clone()).collect();
        self.source
            .send_replace(Some(SourceSnapshot { pods, problems }));
    }

    /// The source has yet to report, as at a start of the machine.
    pub fn unreport(&self) {
        self.source.send_replace(None);
    }

    /// Events of this life of the agent.
    pub fn events(&self) -> Vec<Arc<AgentEvent>> {
        self.actor
            .as_ref()
            .map(|actor| actor.telling.events.subscribe().0)
            .unwrap_or_default()
    }

    /// Books of this life of the agent.
    pub fn telling(&self) -> Option<&Telling> {
        self.actor.as_ref().map(|actor| &actor.telling)
    }

    /// What start-up still waits for.
    pub fn pending(&self) -> Vec<&'static str> {
        self.actor
            .as_ref()
            .map(|actor| actor.readiness.pending())
            .unwrap_or_default()
    }

    /// What the agent shows.
    pub fn board(&self) -> Arc<PodBoard> {
        self.actor
            .as_ref()
            .map(|actor| actor.agent.pods.borrow().clone())
            .unwrap_or_default()
    }

    /// Whether something holds now.
    pub fn holds(&self, check: impl FnOnce(&View<'_>) -> bool) -> bool {
        let board = self.board();
        self.world.read(|state| {
            check(&View {
                state,
                board: &board,
            })
        })
    }

    /// Waits until something holds, at most `limit` of virtual time. An agent that crashes meanwhile
    /// is started again. Panics with all there is to know when it never holds.
    #[expect(clippy::panic, reason = "only tests call it")]
    pub async fn until(&mut self, what: &str, limit: Duration, check: impl Fn(&View<'_>) -> bool) {
        let deadline = tokio::time::Instant::now() + limit;
        let mut changes = self.world.changes();
        loop {
            // Marked as seen before the look, so that no change is missed between the two.
            changes.mark_unchanged();
            let mut pods = self.actor.as_ref().map(|actor| actor.agent.pods.clone());
            if let Some(pods) = &mut pods {
                pods.mark_unchanged();
            }
            if self.holds(&check) {
                return;
            }
            let shown = async {
                let ended = match &mut pods {
                    Some(pods) => pods.changed().await.is_err(),
                    None => true,
                };
                if ended {
                    std::future::pending().await
                }
            };
            // Each arm is cancelled when another one is ready: all of them are level-triggered.
            let wake = tokio::select! {
                _ = changes.changed() => Wake::Look,
                () = shown => Wake::Look,
                () = crashed(&mut self.crashes) => Wake::Crash,
                () = tokio::time::sleep_until(deadline) => Wake::Late,
            };
            match wake {
                Wake::Look => {}
                Wake::Crash => self.reboot(),
                Wake::Late => panic!("{what}: not within {limit:?}\n{}", self.describe()),
            }
        }
    }

    /// Lets virtual time pass. An agent that crashes meanwhile is started again.
    pub async fn pass(&mut self, time: Duration) {
        let deadline = tokio::time::Instant::now() + time;
        loop {
            // Each arm is cancelled when the other one is ready: the deadline is kept outside, and a
            // crash stays marked until the agent is buried.
            let crashed = tokio::select! {
                () = tokio::time::sleep_until(deadline) => false,
                () = crashed(&mut self.crashes) => true,
            };
            if !crashed {
                return;
            }
            self.reboot();
        }
    }

    fn reboot(&mut self) {
        self.crash();
        self.boot();
    }

    /// Panics when something has happened that never must.
    pub fn assert_fine(&self) {
        let violations = self.world.read(|state| state.violations.clone());
        assert!(violations.is_empty(), "{violations:#?}");
    }

    /// Everything there is to know, for a failed test.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for pod in self.board().values() {
            text += &format!(
                "{} {:?} {:?}\n  steps {:?}\n  failures {:?}\n",
                pod.name, pod.life, pod.status, pod.steps, pod.failures
            );
        }
        let (summary, violations, calls) = self.world.read(|state| {
            let last = state
                .calls
                .iter()
                .rev()
                .take(30)
                .rev()
                .cloned()
                .collect::<Vec<_>>();
            (state.summary(), state.violations.clone(), last)
        });
        text += &format!("world {summary:#?}\nviolations {violations:#?}\nlast calls {calls:#?}\n");
        for event in self.events().iter().rev().take(30).rev() {
            text += &format!(
                "{} {} {} x{}\n",
                event.subject, event.reason, event.message, event.count
            );
        }
        text
    }
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

enum Wake {
    Look,
    Crash,
    Late,
}

async fn crashed(crashes: &mut watch::Receiver<bool>) {
    let over = crashes.wait_for(|crashed| *crashed).await.is_err();
    if over {
        std::future::pending().await
    }
}

/// Runs a rehearsal in its own virtual time.
#[expect(clippy::expect_used, reason = "only tests call it")]
pub fn play<F: Future>(rehearsal: impl FnOnce() -> F) -> F::Output {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime in memory");
    runtime.block_on(async { rehearsal().await })
}
