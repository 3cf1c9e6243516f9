//! The watch on the pods of this node.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agent_loops::ports::SourceSnapshot;
use base_daemon::Backoff;
use futures::{FutureExt, Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::cache::ApiPods;
use super::known::Known;

/// First and longest pause after an error of the watch. The longest is short beside the 30 s of Kubernetes' own clients:
/// after an outage that outlasts the node's lease the node controller has said of every pod that it is not Ready, and
/// only the watch tells that this must be put right.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// Errors further apart than this have nothing to do with each other.
const QUIET: Duration = Duration::from_secs(60);
/// Events that are taken in before anybody is told: a hundred pods that are bound at once are one
/// piece of news, and no flood keeps the news back for long.
const BATCH: usize = 256;

/// Follows the pods of this node until nobody listens to `snapshots` any more.
///
/// The first snapshot comes once the list has been read; `None` before. Errors are logged and end
/// nothing: the watch goes on where it was, or reads the list again, and the last snapshot stays.
/// `objects` gets the newest objects, mirror pods among them, whenever one changed.
pub async fn follow_pods(
    client: Client,
    node_name: String,
    snapshots: watch::Sender<Option<SourceSnapshot>>,
    objects: watch::Sender<Arc<ApiPods>>,
) {
    let fields = format!("spec.nodeName={node_name}");
    let config = watcher::Config::default().fields(&fields);
    let open = || watcher(Api::<Pod>::all(client.clone()), config.clone());
    let mut events = pin!(open());
    let mut known = Known::default();
    let mut trouble = Trouble::of(&node_name);
    loop {
        let result = tokio::select! {
            () = snapshots.closed() => return,
            // What was taken in by then is taken in.
            result = take_batch(&mut events, &mut known) => result,
        };
        // Objects first: who hears of a pod can look it up.
        if let Some(newest) = known.objects() {
            objects.send_replace(Arc::new(newest));
        }
        if let Some(snapshot) = known.snapshot() {
            snapshots.send_replace(Some(snapshot));
        }
        match result {
            Ok(true) => trouble.passed(),
            Ok(false) => {}
            Err(error) => {
                let pause = trouble.again(&error);
                if is_of_another_history(&error) {
                    events.set(open());
                }
                tokio::select! {
                    () = snapshots.closed() => return,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }
}

/// Waits for an event and takes it in, with those that are there already. True: it told something
/// of a pod. An error ends the batch, since the next try must wait.
async fn take_batch<S>(events: &mut S, known: &mut Known) -> watcher::Result<bool>
where
    S: Stream<Item = watcher::Result<Event<Pod>>> + Unpin,
{
    let mut next = events.next().await;
    let mut told = false;
    for _ in 0..BATCH {
        let Some(event) = next else { break };
        let event = event?;
        // The beginning of a list tells nothing: it is said before the server is asked.
        told |= !matches!(event, Event::Init);
        known.take(event);
        next = match events.next().now_or_never() {
            Some(next) => next,
            None => break,
        };
    }
    Ok(told)
}

/// Whether asking again from the same place is in vain. The watcher itself notices only what is told
/// inside a watch. A version from the future (504) is what a data store that was restored says.
fn is_of_another_history(error: &watcher::Error) -> bool {
    let watcher::Error::WatchStartFailed(kube::Error::Api(status)) = error else {
        return false;
    };
    matches!(status.code, 400 | 410 | 504)
}

/// How long the watch has been failing.
#[derive(Debug)]
struct Trouble {
    backoff: Backoff,
    last: Option<Instant>,
    /// Own part of every pause, so that the nodes of a cluster do not come back at one moment.
    offset: Duration,
}

impl Trouble {
    fn of(node_name: &str) -> Self {
        let sum: u64 = node_name.bytes().map(u64::from).sum();
        Self {
            backoff: Backoff::new(PAUSE.0, PAUSE.1),
            last: None,
            offset: Duration::from_millis(sum % 250),
        }
    }

    fn again(&mut self, error: &watcher::Error) -> Duration {
        let why = base_daemon::Chain(error);
        let now = Instant::now();
        match self.last {
            Some(last) if now - last < QUIET => debug!(%why, "watch on pods fails again"),
            _ => {
                self.backoff.reset();
                warn!(%why, "watch on pods failed: pods go on as they were known last");
            }
        }
        self.last = Some(now);
        self.backoff.step() + self.offset
    }

    fn passed(&mut self) {
        if self.last.take().is_some() {
            self.backoff.reset();
            info!("watch on pods works again");
        }
    }
}

#[cfg(test)]
mod tests;
