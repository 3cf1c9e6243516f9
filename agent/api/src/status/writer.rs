//! Owner of the calls that write statuses and delete pods that have ended.

mod call;
mod entry;
mod gate;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use agent_core::PodUid;
use agent_loops::{Clock, PodBoard};
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

use super::render::NodeFacts;
use crate::pods::{ApiPods, is_static, static_hash};
use call::{Answer, Call};
use entry::{Entry, mirror_of};
use gate::Gate;

/// What statuses follow from.
#[derive(Debug)]
pub struct StatusInputs {
    /// What the agent shows of its pods.
    pub board: watch::Receiver<Arc<PodBoard>>,
    /// What the API has.
    pub objects: watch::Receiver<Arc<ApiPods>>,
    /// Facts of the node in every status.
    pub node: watch::Receiver<NodeFacts>,
    /// Clock of the conditions' times.
    pub clock: Clock,
}

/// Writes the status of every pod on the board that the API has, whenever the two differ, and
/// deletes pods that were asked to go and of which nothing is left.
///
/// Runs until the board has no owner any more; what is due then is tried once more.
pub async fn write_statuses(client: Client, inputs: StatusInputs) {
    let mut writer = Writer {
        client,
        inputs,
        entries: BTreeMap::new(),
        queue: VecDeque::new(),
        calls: JoinSet::new(),
        gate: Gate::new(),
        ending: false,
    };
    writer.inputs.board.mark_changed();
    writer.inputs.objects.mark_changed();
    writer.run().await;
}

struct Writer {
    client: Client,
    inputs: StatusInputs,
    entries: BTreeMap<PodUid, Entry>,
    /// Pods that may have something to write, each at most once.
    queue: VecDeque<PodUid>,
    calls: JoinSet<(PodUid, Call, Answer)>,
    gate: Gate,
    ending: bool,
}

impl Writer {
    async fn run(&mut self) {
        loop {
            self.start_calls();
            if self.ending && self.calls.is_empty() {
                return;
            }
            let wake = self.wake();
            let timer = async {
                match wake {
                    Some(wake) => sleep_until(wake).await,
                    None => std::future::pending().await,
                }
            };
            // Cancelling any arm loses nothing: the newest content stays in its channel, a call in
            // the set, and the timer is set anew.
            tokio::select! {
                changed = self.inputs.board.changed(), if !self.ending => match changed {
                    Ok(()) => self.take_board(),
                    Err(_) => self.end(),
                },
                changed = changed(&mut self.inputs.objects) => {
                    let () = changed;
                    self.take_objects();
                }
                changed = changed(&mut self.inputs.node) => {
                    let () = changed;
                    self.inputs.node.mark_unchanged();
                    self.enqueue_all();
                }
                Some(done) = self.calls.join_next() => {
                    if let Ok((uid, call, answer)) = done {
                        self.answered(uid, &call, answer);
                    }
                }
                () = timer => self.wake_up(),
            }
        }
    }

    /// A pod is new to the writer when its pointer is.
    fn take_board(&mut self) {
        let board = Arc::clone(&self.inputs.board.borrow_and_update());
        let objects = Arc::clone(&self.inputs.objects.borrow());
        let node = self.inputs.node.borrow().clone();
        let (now, open) = (Instant::now(), self.gate.is_open());
        for (uid, snapshot) in board.iter() {
            let entry = self.entries.entry(uid.clone()).or_default();
            if entry
                .snapshot
                .as_ref()
                .is_some_and(|old| Arc::ptr_eq(old, snapshot))
            {
                continue;
            }
            entry.snapshot = Some(Arc::clone(snapshot));
            entry.see(object(&objects, uid, entry));
            if !open || entry.busy || entry.pauses(now) {
                entry.draft(&node, self.inputs.clock.now());
            }
            enqueue(&mut self.queue, entry, uid);
        }
        for (uid, entry) in &mut self.entries {
            if !board.contains_key(uid) {
                entry.snapshot = None;
            }
        }
        self.entries.retain(|_, entry| entry.is_of_use());
    }

    fn take_objects(&mut self) {
        let objects = Arc::clone(&self.inputs.objects.borrow_and_update());
        for (uid, entry) in &mut self.entries {
            if entry.see(object(&objects, uid, entry)) {
                enqueue(&mut self.queue, entry, uid);
            }
        }
    }

    /// There will be nothing newer than what is held back.
    fn end(&mut self) {
        self.ending = true;
        for (uid, entry) in &mut self.entries {
            if entry.hurry() {
                enqueue(&mut self.queue, entry, uid);
            }
        }
    }

    fn enqueue_all(&mut self) {
        for (uid, entry) in &mut self.entries {
            enqueue(&mut self.queue, entry, uid);
        }
    }

    fn start_calls(&mut self) {
        let now = Instant::now();
        let node = self.inputs.node.borrow().clone();
        for _ in 0..self.queue.len() {
            if self.calls.len() >= self.gate.width(now) {
                return;
            }
            let Some(uid) = self.queue.pop_front() else {
                return;
            };
            let Some(entry) = self.entries.get_mut(&uid) else {
                continue;
            };
            entry.queued = false;
            // Its answer, or the end of its pause, brings it back.
            if entry.busy || entry.pauses(now) {
                continue;
            }
            let Some(call) = entry.next(&node, self.inputs.clock.now()) else {
                continue;
            };
            entry.busy = true;
            let client = self.client.clone();
            self.calls.spawn(async move {
                let answer = call.make(&client).await;
                (uid, call, answer)
            });
        }
    }

    /// When a pause of some pod, or of all, ends.
    fn wake(&self) -> Option<Instant> {
        let now = Instant::now();
        let pauses = self.entries.values().filter_map(Entry::wake);
        // One that has passed leaves the queue to the calls under way.
        let gate = self
            .gate
            .until()
            .filter(|until| *until > now && !self.queue.is_empty());
        pauses.chain(gate).min()
    }

    fn wake_up(&mut self) {
        let now = Instant::now();
        for (uid, entry) in &mut self.entries {
            if entry.rested(now) {
                enqueue(&mut self.queue, entry, uid);
            }
        }
    }

    fn answered(&mut self, uid: PodUid, call: &Call, answer: Answer) {
        if self.gate.count(&answer) {
            info!("the API server takes statuses again");
        }
        let Some(entry) = self.entries.get_mut(&uid) else {
            return;
        };
        entry.busy = false;
        let pod = call.name();
        match &answer {
            Answer::Written(_) => debug!(%pod, %uid, "status written"),
            Answer::Deleted => info!(%pod, %uid, "pod has ended and is deleted in the API"),
            Answer::Gone | Answer::Conflict => debug!(%pod, %uid, ?answer, "call came too late"),
            Answer::Refused(why) => {
                warn!(%pod, %uid, why, "the API server refuses this status; it is tried again later");
            }
            Answer::Busy { .. } => debug!(%pod, %uid, "the API server is busy"),
            Answer::Down(why) | Answer::Failed(why) if self.gate.first() => {
                warn!(%pod, %uid, why, "cannot write statuses; they are kept and tried again");
            }
            Answer::Down(why) | Answer::Failed(why) => {
                debug!(%pod, %uid, why, "cannot write this status yet")
            }
        }
        entry.answered(call, answer);
        if self.ending {
            return;
        }
        enqueue(&mut self.queue, entry, &uid);
        if entry.snapshot.is_none() {
            self.entries.retain(|_, entry| entry.is_of_use());
        }
    }
}

/// What the API has of a pod: for a static pod its mirror.
fn object(
    objects: &ApiPods,
    uid: &PodUid,
    entry: &Entry,
) -> Option<Arc<k8s_openapi::api::core::v1::Pod>> {
    let snapshot = entry.snapshot.as_ref()?;
    let manifest = snapshot.manifest.as_deref()?;
    if is_static(manifest) {
        mirror_of(objects, &snapshot.name, static_hash(manifest)?)
    } else {
        objects.pods.get(uid).cloned()
    }
}

fn enqueue(queue: &mut VecDeque<PodUid>, entry: &mut Entry, uid: &PodUid) {
    if !std::mem::replace(&mut entry.queued, true) {
        queue.push_back(uid.clone());
    }
}

/// Waits for news; a channel without a sender has none any more.
async fn changed<T>(receiver: &mut watch::Receiver<T>) {
    if receiver.changed().await.is_err() {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests;
