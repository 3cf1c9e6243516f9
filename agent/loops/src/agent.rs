//! What the agent is made of, and how it is started.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use base_daemon::{Drain, Hold, Panicked, Readiness};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::around::Around;
use crate::clock::Clock;
use crate::events::{EventLog, Subject};
use crate::images::Images;
use crate::logs;
use crate::mailbox::Mailbox;
use crate::pleg::{NEWS, Pleg, RuntimeWatch};
use crate::ports::SourceSnapshot;
use crate::problems::ProblemBoard;
use crate::settings::{Doors, Settings};
use crate::slots::Slots;
use crate::snapshot::PodBoard;
use crate::startup::Booted;
use crate::supervisor::{Inputs, Parts, Supervisor};

/// Pause before a watcher that panicked begins anew.
const WATCHER_AGAIN: Duration = Duration::from_secs(1);

/// One source of wanted pods.
#[derive(Debug)]
pub struct Source {
    /// Name for people, for instance `file`.
    pub name: &'static str,
    /// Its newest content; `None` until it has reported for the first time.
    pub snapshots: watch::Receiver<Option<SourceSnapshot>>,
}

/// Where the agent tells what happens. Others may write there, too.
#[derive(Clone, Debug)]
pub struct Telling {
    /// Clock of all times shown.
    pub clock: Clock,
    /// Events.
    pub events: EventLog,
    /// Present problems.
    pub problems: ProblemBoard,
}

impl Telling {
    /// Empty books with one clock.
    pub fn new(clock: Clock) -> Self {
        let events = EventLog::new(clock);
        Self {
            clock,
            problems: ProblemBoard::new(clock, events.clone()),
            events,
        }
    }
}

/// The running agent. Dropping it ends all its tasks at once, as a crash would.
#[derive(Debug)]
pub struct Agent {
    /// All pods, whenever something about them changed.
    pub pods: watch::Receiver<Arc<PodBoard>>,
    /// How the runtime is watched.
    pub runtime: watch::Receiver<RuntimeWatch>,
    task: JoinHandle<Result<(), Panicked>>,
}

/// Starts the agent. It ends when `drain` begins: then no new action is started and those that must
/// not be dropped are finished; whoever waits for the drain sets the limit. Containers stay.
///
/// `readiness` waits for the first look at the runtime and for the first report of every source.
pub fn start(
    doors: Doors,
    settings: Settings,
    sources: Vec<Source>,
    telling: &Telling,
    readiness: &Readiness,
    drain: &Drain,
) -> Agent {
    let (publish, pods) = watch::channel(Arc::default());
    let (state, runtime) = watch::channel(RuntimeWatch::default());
    let images = Images::new(
        Arc::clone(&doors.runtime),
        Arc::clone(&doors.keyring),
        telling.events.clone(),
        settings.pulls,
    );
    let around = Arc::new(Around {
        clock: telling.clock,
        events: telling.events.clone(),
        images,
        slots: Slots::new(settings.start_slots),
        runtime: runtime.clone(),
        board: Mailbox::new(),
        doors,
        settings,
    });
    let (sender, news) = mpsc::channel(NEWS);
    let pleg = Pleg {
        runtime: Arc::clone(&around.doors.runtime),
        clock: telling.clock,
        problems: telling.problems.clone(),
        news: sender,
        state: Arc::new(state),
    };
    let parts = Parts {
        around: Arc::clone(&around),
        problems: telling.problems.clone(),
        sources: sources.iter().map(|source| source.name).collect(),
        publish,
        syncing: readiness.hold("pod sources"),
    };
    let changes = (
        around.doors.devices.changes(),
        around.doors.objects.changes(),
    );
    let inputs = Inputs::new(sources, news, changes, drain.guard());
    let looking = readiness.hold("container runtime");
    let root = root(around, pleg, parts, inputs, pods.clone(), looking);
    Agent {
        pods,
        runtime,
        task: base_daemon::spawn("agent", root),
    }
}

/// The root of all tasks: dropping it drops them all.
async fn root(
    around: Arc<Around>,
    pleg: Pleg,
    parts: Parts,
    mut inputs: Inputs,
    pods: watch::Receiver<Arc<PodBoard>>,
    looking: Hold,
) {
    let mut watchers = JoinSet::new();
    let events = around.events.clone();
    watchers.spawn(steady(events.clone(), "runtime watch", move || {
        pleg.clone().run()
    }));
    let logs_around = Arc::clone(&around);
    watchers.spawn(steady(events, "log rotation", move || {
        logs::run(Arc::clone(&logs_around), pods.clone())
    }));
    let recalled = Booted {
        devices: Arc::clone(&around.doors.devices),
    }
    .recall()
    .await;
    let Some((observed, look)) = inputs.first_look(recalled).await else {
        return;
    };
    drop(looking);
    Supervisor::new(parts, observed, look).run(inputs).await;
}

/// Runs a watcher; one that panics begins anew, which it can since it keeps nothing.
async fn steady<F>(events: EventLog, name: &'static str, make: impl Fn() -> F + Send)
where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let mut task = JoinSet::new();
        task.spawn(make());
        match task.join_next().await {
            Some(Err(error)) if error.is_panic() => {
                tracing::error!(task = name, %error, "watcher panicked");
                let message = format!("a fault in this program stopped the {name}; it begins anew");
                events.warning(Subject::Node, "InternalError", message);
                tokio::time::sleep(WATCHER_AGAIN).await;
            }
            _ => return,
        }
    }
}

impl Agent {
    /// Waits until the agent has ended.
    pub async fn ended(mut self) -> Result<(), Panicked> {
        match (&mut self.task).await {
            Ok(result) => result,
            // Only dropping `self` aborts it.
            Err(_) => Ok(()),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.task.abort();
    }
}
