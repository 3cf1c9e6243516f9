//! Where the supervisor's inputs come from, and which one is next.

use base_daemon::DrainGuard;
use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use tokio::sync::{mpsc, watch};

use super::{AgentInput, Supervisor};
use crate::agent::Source;
use crate::pleg::RuntimeNews;
use crate::ports::{ObjectChanges, SourceSnapshot};
use crate::startup::{FirstLook, Observed, Recalled};

/// Everything from outside; pods and the search of the host are the supervisor's own.
pub(crate) struct Inputs {
    sources: SelectAll<BoxStream<'static, (usize, SourceSnapshot)>>,
    news: mpsc::Receiver<RuntimeNews>,
    devices: watch::Receiver<u64>,
    objects: watch::Receiver<ObjectChanges>,
    drain: DrainGuard,
}

impl Inputs {
    /// A source that ends without having reported keeps the agent from removing anything.
    pub(crate) fn new(
        sources: Vec<Source>,
        news: mpsc::Receiver<RuntimeNews>,
        (devices, objects): (watch::Receiver<u64>, watch::Receiver<ObjectChanges>),
        drain: DrainGuard,
    ) -> Self {
        let streams = sources.into_iter().enumerate().map(|(index, source)| {
            let mut receiver = source.snapshots;
            // What was reported before the agent began counts, too.
            receiver.mark_changed();
            let snapshots = futures::stream::unfold(receiver, |mut receiver| async move {
                receiver.changed().await.ok()?;
                let latest = receiver.borrow_and_update().clone();
                Some((latest, receiver))
            });
            let some = snapshots.filter_map(std::future::ready);
            some.map(move |snapshot| (index, snapshot)).boxed()
        });
        Self {
            sources: streams.collect(),
            news,
            devices,
            objects,
            drain,
        }
    }

    /// Climbs to the first look. `None`: the agent ends before that.
    pub(crate) async fn first_look(&mut self, recalled: Recalled) -> Option<(Observed, FirstLook)> {
        // Each arm is cancelled for good when the other one is ready.
        tokio::select! {
            look = recalled.observe(&mut self.news) => look,
            () = self.drain.ending() => None,
        }
    }
}

impl Supervisor {
    pub(super) async fn next(&mut self, inputs: &mut Inputs) -> AgentInput {
        // Each arm is cancelled when another one is ready, and loses nothing by it.
        tokio::select! {
            // A stream gives an item only when it is ready.
            Some((index, snapshot)) = inputs.sources.next() => AgentInput::Source(index, snapshot),
            // The news stay in the channel.
            Some(news) = inputs.news.recv() => AgentInput::Runtime(news),
            // The letter stays in the box.
            changes = self.around.board.take() => AgentInput::Pods(changes),
            // The result stays in the set.
            Some(ended) = self.tasks.join_next_with_id() => AgentInput::PodEnded(ended),
            // Likewise.
            Some(Ok(uids)) = self.leftovers.join_next() => AgentInput::Leftovers(uids),
            // The change stays marked as unseen.
            Ok(()) = inputs.devices.changed() => AgentInput::DevicesChanged,
            // Likewise.
            Ok(()) = inputs.objects.changed() => {
                let changes = inputs.objects.borrow_and_update();
                let (at, pods) = (changes.generation, changes.after(self.objects_at));
                drop(changes);
                AgentInput::ObjectsChanged(at, pods)
            }
            // May be awaited again.
            () = inputs.drain.ending() => AgentInput::Ending,
        }
    }
}
