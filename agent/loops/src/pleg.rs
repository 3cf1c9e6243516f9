//! Watches the runtime: events while there are any, listings as the safety net.
//!
//! Events only save time and calls. What counts are listings: one after every (re)connection, begun
//! when the stream is already open so that nothing falls between, and a slow one for ever after. A
//! runtime without events is listed every second.

use std::sync::Arc;
use std::time::Duration;

use agent_core::{Fail, FailKind, Observation, PodUid, Time};
use base_daemon::Backoff;
use futures::StreamExt;
use futures::future::{BoxFuture, Fuse, FutureExt};
use futures::stream::BoxStream;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::ports::{Runtime, RuntimeEvent, RuntimeFacts};
use crate::problems::{Area, ProblemBoard};

/// Listing interval while events flow. It finds only what a runtime forgot to tell, so it may be
/// slow: two calls a minute.
pub(crate) const SAFETY_RELIST: Duration = Duration::from_secs(60);

/// Listing interval of a runtime without events, as the stock kubelet's generic PLEG.
pub(crate) const POLLING_RELIST: Duration = Duration::from_secs(1);

/// First and longest delay between tries to reach the runtime.
const RECONNECT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// A stream that lasted this long was a good one: the next break is tried again at once.
const STEADY: Duration = Duration::from_secs(10);

/// What the runtime watch tells the supervisor.
#[derive(Debug)]
pub(crate) enum RuntimeNews {
    /// All that the runtime knows. A pod that is not in it was gone when the look began.
    Listed {
        /// When the look began.
        at: Time,
        /// Every pod.
        pods: Vec<Observation>,
    },
    /// One pod, right after something happened to it.
    Observed(Box<Observation>),
    /// Something happened to this pod and it has to be looked at.
    Touched(PodUid),
}

/// How the runtime is watched right now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchMode {
    /// The runtime does not answer.
    #[default]
    Down,
    /// Listings every second or at every try to open the stream: changes are seen late.
    Polling,
    /// Events flow.
    Events,
}

/// State of the runtime watch, for health checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeWatch {
    /// How it is watched.
    pub mode: WatchMode,
    /// Start of the last listing that worked.
    pub listed_at: Option<Time>,
    /// What it is, asked again after every connection, since it may have been replaced.
    pub facts: Option<Arc<RuntimeFacts>>,
}

/// The task that watches the runtime.
#[derive(Clone, Debug)]
pub(crate) struct Pleg {
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) clock: Clock,
    pub(crate) problems: ProblemBoard,
    /// To the supervisor, which reads on promptly; the bound is a burst of 110 pods with two
    /// events each, and beyond it the runtime's stream is simply read later.
    pub(crate) news: mpsc::Sender<RuntimeNews>,
    pub(crate) state: Arc<watch::Sender<RuntimeWatch>>,
}

/// Capacity of [`Pleg::news`].
pub(crate) const NEWS: usize = 256;

type Listing = Fuse<BoxFuture<'static, (Time, Result<Vec<Observation>, Fail>)>>;

/// The supervisor is gone, so the agent is ending.
struct Ended;

impl Pleg {
    /// Runs until the supervisor is gone.
    pub(crate) async fn run(self) {
        let mut backoff = Backoff::new(RECONNECT.0, RECONNECT.1);
        loop {
            let opened = Instant::now();
            let ended = match self.runtime.events().await {
                Ok(stream) => self.follow(stream).await,
                Err(fail) if fail.kind == FailKind::Permanent => self.poll().await,
                // The runtime may still answer other calls, so what is there is looked at anyway.
                Err(fail) => self.list_once(&fail).await,
            };
            if matches!(ended, Err(Ended)) {
                return;
            }
            if opened.elapsed() >= STEADY {
                backoff.reset();
            }
            tokio::time::sleep(backoff.step()).await;
        }
    }

    /// Follows the stream until it breaks.
    async fn follow(
        &self,
        mut stream: BoxStream<'static, Result<RuntimeEvent, Fail>>,
    ) -> Result<(), Ended> {
        let mut listing = self.list();
        let mut relist_at = Instant::now() + SAFETY_RELIST;
        loop {
            tokio::select! {
                // Cancelled when another arm is ready: `next` takes an item only when it is ready.
                // The body waits for room in the channel alone, and the supervisor reads at once.
                event = stream.next() => match event {
                    Some(Ok(event)) => self.tell(self.news_of(event)).await?,
                    Some(Err(fail)) => return self.broken(&fail.to_string()),
                    None => return self.broken("the runtime closed its event stream"),
                },
                // Cancelled when another arm is ready: the future is kept and polled on.
                (at, answer) = &mut listing => match answer {
                    Ok(pods) => self.listed(at, pods, WatchMode::Events).await?,
                    Err(fail) => return self.down(&fail),
                },
                // Cancelled when another arm is ready: the deadline is kept outside.
                () = tokio::time::sleep_until(relist_at) => {
                    relist_at += SAFETY_RELIST;
                    listing = self.list();
                }
            }
        }
    }

    /// Lists every second until that fails, too.
    async fn poll(&self) -> Result<(), Ended> {
        loop {
            match self.list().await {
                (at, Ok(pods)) => self.listed(at, pods, WatchMode::Polling).await?,
                (_, Err(fail)) => return self.down(&fail),
            }
            tokio::time::sleep(POLLING_RELIST).await;
        }
    }

    /// The stream could not be opened because of `why`.
    async fn list_once(&self, why: &Fail) -> Result<(), Ended> {
        tracing::debug!(error = %why, "no event stream from the runtime; listing instead");
        match self.list().await {
            (at, Ok(pods)) => self.listed(at, pods, WatchMode::Polling).await,
            (_, Err(fail)) => self.down(&fail),
        }
    }

    fn list(&self) -> Listing {
        let (runtime, clock) = (Arc::clone(&self.runtime), self.clock);
        async move { (clock.now(), runtime.list().await) }
            .boxed()
            .fuse()
    }

    async fn listed(&self, at: Time, pods: Vec<Observation>, mode: WatchMode) -> Result<(), Ended> {
        let before = self.state.borrow().mode;
        if before != mode {
            tracing::info!(
                ?mode,
                pods = pods.len(),
                "container runtime is being watched"
            );
        }
        self.state.send_modify(|state| {
            state.mode = mode;
            state.listed_at = Some(at);
        });
        self.problems.replace(Area::Runtime, Vec::new());
        self.tell(RuntimeNews::Listed { at, pods }).await?;
        if before != mode
            && let Ok(facts) = self.runtime.facts().await
        {
            self.state
                .send_modify(|state| state.facts = Some(Arc::new(facts)));
        }
        Ok(())
    }

    fn broken(&self, why: &str) -> Result<(), Ended> {
        tracing::info!(error = why, "event stream of the container runtime broke");
        self.state
            .send_modify(|state| state.mode = WatchMode::Polling);
        Ok(())
    }

    fn down(&self, fail: &Fail) -> Result<(), Ended> {
        self.state.send_modify(|state| state.mode = WatchMode::Down);
        let problem = ("container runtime".to_owned(), fail.message.clone());
        self.problems.replace(Area::Runtime, vec![problem]);
        Ok(())
    }

    async fn tell(&self, news: RuntimeNews) -> Result<(), Ended> {
        self.news.send(news).await.map_err(|_| Ended)
    }

    /// The runtime's clock may have been set forward since the agent's was read: an event cannot be
    /// younger than its arrival.
    fn news_of(&self, event: RuntimeEvent) -> RuntimeNews {
        match event {
            RuntimeEvent::Observed(mut seen) => {
                seen.at = seen.at.min(self.clock.now());
                RuntimeNews::Observed(seen)
            }
            RuntimeEvent::Touched(uid) => RuntimeNews::Touched(uid),
        }
    }
}
