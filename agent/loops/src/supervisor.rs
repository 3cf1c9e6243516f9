//! Owner of the roster: which pods there are, which one starts, stops or waits.
//!
//! What is wanted and what the runtime shows are compared by `core::roster`; a pod's own affairs are
//! its task's. Nothing here waits for anything but the next input.

mod admission;
mod found;
mod inputs;
mod reconcile;
mod route;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use agent_core::{PodName, PodUid, Refusal, Stop, Time};
use base_daemon::Hold;
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};

use crate::around::Around;
use crate::events::Subject;
use crate::mailbox::Mailbox;
use crate::pleg::RuntimeNews;
use crate::pod::{PodLetter, PodStart, PodTask};
use crate::ports::{SourceSnapshot, WantedPod};
use crate::problems::ProblemBoard;
use crate::snapshot::{PodBoard, PodChanges, PodSnapshot};
use crate::startup::{FirstLook, Live, Observed};

use found::{Found, Leftovers};
pub(crate) use inputs::Inputs;

/// First and longest delay before the task of a pod that panicked begins anew.
const RESTART: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The owner task.
#[derive(Debug)]
pub(crate) struct Supervisor {
    around: Arc<Around>,
    problems: ProblemBoard,
    sources: Vec<SourceState>,
    /// The rung of start-up while sources have yet to report.
    observed: Option<Observed>,
    /// Proof that removing is allowed, once they have.
    live: Option<Live>,
    entries: BTreeMap<PodUid, Entry>,
    /// In the runtime or on the host, without a task.
    found: BTreeMap<PodUid, Found>,
    /// When pods that are gone were gone: listings begun before may still show them.
    gone: BTreeMap<PodUid, Time>,
    tasks: JoinSet<()>,
    task_of: HashMap<Id, PodUid>,
    leftovers: JoinSet<Leftovers>,
    arrivals: u64,
    /// Number of the newest change of objects that pods were told of.
    objects_at: u64,
    /// Deleted pods of which nothing is left here, until their objects are gone from the API.
    buried: BTreeMap<PodUid, Arc<PodSnapshot>>,
    board: PodBoard,
    publish: watch::Sender<Arc<PodBoard>>,
    /// Dropped when every source has reported.
    syncing: Option<Hold>,
}

/// One source and what it said last.
#[derive(Debug)]
struct SourceState {
    name: &'static str,
    latest: Option<SourceSnapshot>,
}

/// A pod with a task.
#[derive(Debug)]
struct Entry {
    name: PodName,
    want: Option<WantedPod>,
    stop: Option<Stop>,
    refusal: Option<Refusal>,
    mailbox: Mailbox<PodLetter>,
    /// Pods are told of devices in the order they came.
    arrival: u64,
    /// Since when it has its task: looks begun earlier may show another life of the same pod.
    since: Time,
    panics: u32,
}

/// Everything that reaches the supervisor.
#[derive(Debug)]
enum AgentInput {
    /// A source has new content.
    Source(usize, SourceSnapshot),
    /// The runtime shows something.
    Runtime(RuntimeNews),
    /// Pods show something new.
    Pods(PodChanges),
    /// A pod task ended.
    PodEnded(Result<(Id, ()), JoinError>),
    /// The host was searched for pods of the past.
    Leftovers(Leftovers),
    /// A refusal of devices might turn into a grant.
    DevicesChanged,
    /// What these pods refer to has changed, up to this number.
    ObjectsChanged(u64, BTreeSet<PodUid>),
    /// The agent ends.
    Ending,
}

/// What the supervisor is made of.
pub(crate) struct Parts {
    pub(crate) around: Arc<Around>,
    pub(crate) problems: ProblemBoard,
    pub(crate) sources: Vec<&'static str>,
    pub(crate) publish: watch::Sender<Arc<PodBoard>>,
    pub(crate) syncing: Hold,
}

impl Supervisor {
    /// A supervisor that knows what the runtime showed first.
    pub(crate) fn new(parts: Parts, observed: Observed, look: FirstLook) -> Self {
        let source = |name| SourceState { name, latest: None };
        let mut supervisor = Self {
            around: parts.around,
            problems: parts.problems,
            sources: parts.sources.into_iter().map(source).collect(),
            observed: Some(observed),
            live: None,
            entries: BTreeMap::new(),
            found: BTreeMap::new(),
            gone: BTreeMap::new(),
            tasks: JoinSet::new(),
            task_of: HashMap::new(),
            leftovers: JoinSet::new(),
            arrivals: 0,
            objects_at: 0,
            buried: BTreeMap::new(),
            board: PodBoard::new(),
            publish: parts.publish,
            syncing: Some(parts.syncing),
        };
        supervisor.listed(look.at, look.pods);
        for news in look.early {
            supervisor.hear(news);
        }
        supervisor
    }

    /// Runs until the agent ends. Containers are left as they are.
    pub(crate) async fn run(mut self, mut inputs: Inputs) {
        // Without sources everything has been reported.
        self.climb();
        self.reconcile();
        loop {
            match self.next(&mut inputs).await {
                AgentInput::Source(index, snapshot) => self.take_source(index, snapshot),
                AgentInput::Runtime(news) => self.hear(news),
                AgentInput::Pods(changes) => self.show(changes),
                AgentInput::PodEnded(result) => self.pod_ended(result),
                AgentInput::Leftovers(uids) => self.take_leftovers(uids),
                AgentInput::DevicesChanged => self.wake_waiting(),
                AgentInput::ObjectsChanged(at, pods) => self.refresh(at, &pods),
                AgentInput::Ending => break,
            }
        }
        for entry in self.entries.values() {
            entry.mailbox.put(|letter| letter.ending = true);
        }
        while self.tasks.join_next().await.is_some() {}
    }

    fn show(&mut self, changes: PodChanges) {
        // A pod that has just ended may still have something in the box.
        let known = changes
            .into_iter()
            .filter(|(uid, _)| self.entries.contains_key(uid));
        self.board.extend(known);
        self.publish();
    }

    fn publish(&self) {
        self.publish.send_replace(Arc::new(self.board.clone()));
    }

    fn refresh(&mut self, at: u64, pods: &BTreeSet<PodUid>) {
        self.objects_at = at;
        for entry in pods.iter().filter_map(|uid| self.entries.get(uid)) {
            entry.mailbox.put(|letter| letter.references_changed = true);
        }
    }

    fn wake_waiting(&self) {
        let mut entries: Vec<_> = self.entries.values().collect();
        entries.sort_by_key(|entry| entry.arrival);
        for entry in entries {
            entry.mailbox.put(|letter| letter.devices_changed = true);
        }
    }

    /// Gives a pod its task. `delay`: the one before panicked, so wait and look anew.
    fn begin(&mut self, start: PodStart, mailbox: Mailbox<PodLetter>, delay: Option<Duration>) {
        let (uid, around) = (start.uid.clone(), Arc::clone(&self.around));
        let handle = match delay {
            // Drawing the place here keeps the order of the source.
            None => self.tasks.spawn(PodTask::new(around, mailbox, start).run()),
            Some(delay) => self.tasks.spawn(async move {
                tokio::time::sleep(delay).await;
                PodTask::looking(around, mailbox, start).await.run().await;
            }),
        };
        self.task_of.insert(handle.id(), uid);
    }

    fn pod_ended(&mut self, result: Result<(Id, ()), JoinError>) {
        let id = result.as_ref().map_or_else(JoinError::id, |(id, ())| *id);
        let Some(uid) = self.task_of.remove(&id) else {
            return;
        };
        match result {
            Ok(_) => {
                // The last that the pod showed may still be in the box.
                if let Some(changes) = self.around.board.try_take() {
                    self.show(changes);
                }
                self.entries.remove(&uid);
                if let Some(last) = self.board.remove(&uid) {
                    self.bury(&uid, last);
                }
                self.gone.insert(uid, self.around.now());
                self.publish();
                self.reconcile();
            }
            Err(error) => self.begin_anew(&uid, &error),
        }
    }

    /// A fault in the task of one pod ends neither the agent nor the pod's containers.
    fn begin_anew(&mut self, uid: &PodUid, error: &JoinError) {
        let Some(entry) = self.entries.get_mut(uid) else {
            return;
        };
        let (base, cap) = RESTART;
        let delay = base.saturating_mul(1 << entry.panics.min(10)).min(cap);
        entry.panics += 1;
        tracing::error!(pod = %entry.name, %uid, %error, "pod task panicked");
        let about = Subject::Pod {
            uid: uid.clone(),
            name: entry.name.clone(),
        };
        let message = "A fault in this program ended the task of this pod; its containers go on and \
                       it begins anew. Please report it with the log";
        self.around.events.warning(about, "InternalError", message);
        let start = PodStart {
            uid: uid.clone(),
            name: entry.name.clone(),
            want: entry.want.clone(),
            stop: entry.stop,
            refusal: entry.refusal.clone(),
            seen: None,
            touched: false,
        };
        let mailbox = entry.mailbox.clone();
        self.begin(start, mailbox, Some(delay));
    }
}
