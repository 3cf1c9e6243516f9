//! What is wrong right now, as a board that shows only the present.
//!
//! Events tell that something happened; the board tells whether it still is so. A problem stays
//! until the part that put it there puts up a list without it.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_core::Time;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::events::{EventLog, Subject};

/// Part of the agent that a problem belongs to; each part replaces only its own list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// A source of pods, by name, for instance `file`.
    Source(&'static str),
    /// Files with the agent's own state.
    StateFiles,
    /// The container runtime.
    Runtime,
    /// Devices and their driver.
    Devices,
    /// This host: directories, cgroups.
    Host,
    /// This node as the control plane knows it.
    Node,
}

impl Area {
    /// One CamelCase word.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Source(_) => "ManifestProblem",
            Self::StateFiles => "StateFileProblem",
            Self::Runtime => "RuntimeProblem",
            Self::Devices => "DeviceProblem",
            Self::Host => "HostProblem",
            Self::Node => "NodeProblem",
        }
    }
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What has it: a file, a device, a socket.
    pub subject: String,
    /// What is wrong and what to do.
    pub message: String,
    /// Since when.
    pub since: Time,
}

/// All present problems by area. Areas without a problem are absent.
pub type Problems = BTreeMap<Area, Vec<Problem>>;

/// The board. Cheap to clone; all clones write on one board.
#[derive(Clone, Debug)]
pub struct ProblemBoard {
    clock: Clock,
    events: EventLog,
    board: Arc<watch::Sender<Arc<Problems>>>,
}

impl ProblemBoard {
    /// An empty board. New and solved problems are told as events too.
    pub fn new(clock: Clock, events: EventLog) -> Self {
        Self {
            clock,
            events,
            board: Arc::new(watch::Sender::default()),
        }
    }

    /// Replaces the problems of one area by pairs of subject and message.
    pub fn replace(&self, area: Area, present: Vec<(String, String)>) {
        self.board.send_if_modified(|board| {
            let old = board.get(&area).map_or(&[][..], Vec::as_slice);
            let new = self.renew(old, present);
            if new == old {
                return false;
            }
            self.tell(old, &new);
            let board = Arc::make_mut(board);
            if new.is_empty() {
                board.remove(&area);
            } else {
                board.insert(area, new);
            }
            true
        });
    }

    /// The board now and whenever it changes.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Problems>> {
        self.board.subscribe()
    }

    /// The new list; a problem that was there already keeps its age.
    fn renew(&self, old: &[Problem], present: Vec<(String, String)>) -> Vec<Problem> {
        let now = self.clock.now();
        let age = |subject: &str, message: &str| {
            let same = old
                .iter()
                .find(|old| old.subject == subject && old.message == message);
            same.map_or(now, |old| old.since)
        };
        present
            .into_iter()
            .map(|(subject, message)| Problem {
                since: age(&subject, &message),
                subject,
                message,
            })
            .collect()
    }

    fn tell(&self, old: &[Problem], new: &[Problem]) {
        for problem in new.iter().filter(|problem| !old.contains(problem)) {
            let subject = Subject::Part(problem.subject.clone());
            self.events
                .warning(subject, "ProblemFound", problem.message.clone());
        }
        let gone = |problem: &&Problem| !new.iter().any(|new| new.subject == problem.subject);
        for problem in old.iter().filter(gone) {
            let subject = Subject::Part(problem.subject.clone());
            self.events
                .normal(subject, "ProblemSolved", "it is well again");
        }
    }
}

#[cfg(test)]
mod tests;
