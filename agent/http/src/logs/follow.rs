//! When there may be more in a log: its folder changed, or the container ended.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{ContainerId, ContainerState, PodUid};
use agent_loops::{PodBoard, PodSnapshot};
use futures::StreamExt;
use inotify::{EventMask, EventStream, Inotify, WatchMask};
use tokio::sync::watch;

use crate::server::until;

/// Bytes for events of one read; more come with the next one.
const BUFFER: usize = 4096;
/// How often a log is looked at where the system gives no events: it allows only so many watchers.
const WITHOUT_EVENTS: Duration = Duration::from_secs(1);

/// One container instance, and where its end is seen.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Pod.
    pub(crate) pod: PodUid,
    /// Instance.
    pub(crate) container: ContainerId,
    /// All pods.
    pub(crate) board: watch::Receiver<Arc<PodBoard>>,
    /// True when the server ends.
    pub(crate) closing: watch::Receiver<bool>,
}

/// What woke somebody up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Something was written.
    Written,
    /// A file came or got another name.
    Renamed,
    /// The container may have ended.
    Board,
    /// Nobody can be served any longer.
    Closing,
}

/// Events of a folder.
pub(super) struct Watch {
    events: Option<EventStream<[u8; BUFFER]>>,
}

impl Subject {
    /// Whether the instance runs, as far as is known.
    pub(super) fn runs(&mut self) -> bool {
        let board = self.board.borrow_and_update();
        let pod = board.get(&self.pod);
        pod.is_some_and(|pod| runs(pod, &self.container)) && !*self.closing.borrow()
    }
}

fn runs(pod: &PodSnapshot, id: &ContainerId) -> bool {
    let status = &pod.status;
    let mut all = status
        .init
        .iter()
        .chain(&status.containers)
        .chain(&status.ephemeral);
    all.any(|each| {
        each.id.as_ref() == Some(id) && matches!(each.state, ContainerState::Running { .. })
    })
}

impl Watch {
    /// Watches a folder, or looks at it now and then if the system has no watcher left.
    pub(super) fn on(folder: &Path) -> Self {
        let watch = || {
            let inotify = Inotify::init()?;
            let mask =
                WatchMask::MODIFY | WatchMask::CREATE | WatchMask::MOVED_TO | WatchMask::DELETE;
            inotify
                .watches()
                .add(folder, mask | WatchMask::MOVED_FROM | WatchMask::ONLYDIR)?;
            inotify.into_event_stream([0; BUFFER])
        };
        let events = watch();
        if let Err(error) = &events {
            tracing::debug!(%error, "no events for a log folder; it is looked at every second");
        }
        Self {
            events: events.ok(),
        }
    }

    /// Waits for news. Safe to cancel.
    pub(super) async fn news(&mut self, subject: &mut Subject) -> News {
        // Each arm only waits: whatever comes second is still there at the next call.
        tokio::select! {
            news = Self::event(&mut self.events) => news,
            changed = subject.board.changed() => match changed {
                Ok(()) => News::Board,
                Err(_) => News::Closing,
            },
            () = until(&mut subject.closing) => News::Closing,
        }
    }

    async fn event(events: &mut Option<EventStream<[u8; BUFFER]>>) -> News {
        let Some(stream) = events else {
            tokio::time::sleep(WITHOUT_EVENTS).await;
            return News::Renamed;
        };
        match stream.next().await {
            Some(Ok(event)) if event.mask == EventMask::MODIFY => News::Written,
            Some(Ok(_)) => News::Renamed,
            // The watch is gone, and the folder with it or not.
            Some(Err(_)) | None => {
                *events = None;
                News::Renamed
            }
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("events", &self.events.is_some())
            .finish()
    }
}
