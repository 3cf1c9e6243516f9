//! What happened on this node, for people: the last thousand events and a live stream of new ones.
//!
//! Every refusal and every fault goes through here, so that the log, `gpuctl events` and later the
//! API server tell the same story. Reasons and texts are the stock kubelet's where it has them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_core::{ContainerName, PodName, PodUid, Time};
use tokio::sync::broadcast;

use crate::clock::Clock;

/// Events kept for those who ask later: a burst of 110 pods makes about 500.
const KEPT: usize = 1000;

/// Events a slow listener may lag behind before it is told that it missed some.
const LAG: usize = 1000;

/// Equal events within this time count as one (the stock kubelet's event correlator uses 10 min).
const SAME: Duration = Duration::from_secs(600);

/// One event, or several equal ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEvent {
    /// Rises with every event recorded; a repeat gets a new one.
    pub sequence: u64,
    /// When it happened last.
    pub time: Time,
    /// When it happened first.
    pub first: Time,
    /// How often.
    pub count: u32,
    /// Normal or warning.
    pub kind: EventKind,
    /// CamelCase reason.
    pub reason: Cow<'static, str>,
    /// What it is about.
    pub subject: Subject,
    /// In words.
    pub message: String,
    /// The cause, when it is not in the message.
    pub why: Option<String>,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// All as it should be.
    Normal,
    /// Somebody may have to act.
    Warning,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The node.
    Node,
    /// A part of this node by name: a device, a file, a socket.
    Part(String),
    /// A pod.
    Pod {
        /// Its identity.
        uid: PodUid,
        /// Its name.
        name: PodName,
    },
    /// A container of a pod.
    Container {
        /// The pod's identity.
        uid: PodUid,
        /// The pod's name.
        name: PodName,
        /// The container.
        container: ContainerName,
    },
}

impl Subject {
    /// The pod it is about, if any.
    pub fn pod(&self) -> Option<(&PodUid, &PodName)> {
        match self {
            Self::Node | Self::Part(_) => None,
            Self::Pod { uid, name } | Self::Container { uid, name, .. } => Some((uid, name)),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node => f.write_str("node"),
            Self::Part(name) => write!(f, "{name}"),
            Self::Pod { name, .. } => write!(f, "pod {name}"),
            Self::Container {
                name, container, ..
            } => write!(f, "pod {name}, container {container}"),
        }
    }
}

/// The log of events. Cheap to clone; all clones share one log.
#[derive(Clone, Debug)]
pub struct EventLog {
    clock: Clock,
    // A plain lock: it is held for one push or one copy, never over an await.
    ring: Arc<Mutex<Ring>>,
}

#[derive(Debug)]
struct Ring {
    sequence: u64,
    kept: VecDeque<Arc<AgentEvent>>,
    live: broadcast::Sender<Arc<AgentEvent>>,
}

impl EventLog {
    /// An empty log.
    pub fn new(clock: Clock) -> Self {
        let (live, _) = broadcast::channel(LAG);
        let ring = Ring {
            sequence: 0,
            kept: VecDeque::new(),
            live,
        };
        Self {
            clock,
            ring: Arc::new(Mutex::new(ring)),
        }
    }

    /// Records something normal.
    pub fn normal(
        &self,
        subject: Subject,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) {
        self.record(EventKind::Normal, subject, reason, message.into(), None);
    }

    /// Records something a person may have to act on.
    pub fn warning(
        &self,
        subject: Subject,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) {
        self.record(EventKind::Warning, subject, reason, message.into(), None);
    }

    /// Records an event with its cause.
    pub fn record(
        &self,
        kind: EventKind,
        subject: Subject,
        reason: impl Into<Cow<'static, str>>,
        message: String,
        why: Option<String>,
    ) {
        let now = self.clock.now();
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.sequence += 1;
        let fresh = AgentEvent {
            sequence: ring.sequence,
            time: now,
            first: now,
            count: 1,
            kind,
            reason: reason.into(),
            subject,
            message,
            why,
        };
        let event = Arc::new(ring.merge(fresh));
        ring.kept.push_back(Arc::clone(&event));
        if ring.kept.len() > KEPT {
            ring.kept.pop_front();
        }
        // Nobody may be listening, which is fine.
        let _ = ring.live.send(Arc::clone(&event));
        drop(ring);
        // The log may be slow to take it.
        tell(&event);
    }

    /// What is kept, oldest first, and a stream that goes on right after it without a gap.
    pub fn subscribe(&self) -> (Vec<Arc<AgentEvent>>, broadcast::Receiver<Arc<AgentEvent>>) {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        (ring.kept.iter().cloned().collect(), ring.live.subscribe())
    }
}

impl Ring {
    /// Takes an equal event out of the ring and counts it into the fresh one.
    fn merge(&mut self, mut fresh: AgentEvent) -> AgentEvent {
        let equal = self.kept.iter().rposition(|old| {
            old.reason == fresh.reason
                && old.kind == fresh.kind
                && old.subject == fresh.subject
                && old.message == fresh.message
                && fresh.time.since(old.time) < SAME
        });
        if let Some(old) = equal.and_then(|at| self.kept.remove(at)) {
            fresh.first = old.first;
            fresh.count = old.count.saturating_add(1);
        }
        fresh
    }
}

fn tell(event: &AgentEvent) {
    // Fields that do not apply are absent, not empty.
    let pod = event.subject.pod().map(|(_, name)| name.to_string());
    let uid = event.subject.pod().map(|(uid, _)| uid.as_str());
    let (container, part) = match &event.subject {
        Subject::Container { container, .. } => (Some(container.as_str()), None),
        Subject::Part(name) => (None, Some(name.as_str())),
        Subject::Node | Subject::Pod { .. } => (None, None),
    };
    let (pod, why) = (pod.as_deref(), event.why.as_deref());
    let count = Some(event.count).filter(|count| *count > 1);
    let (reason, message) = (&*event.reason, &event.message);
    match event.kind {
        EventKind::Normal => {
            tracing::info!(pod, uid, container, part, reason, count, why, "{message}");
        }
        EventKind::Warning => {
            tracing::warn!(pod, uid, container, part, reason, count, why, "{message}");
        }
    }
}

#[cfg(test)]
mod tests;
