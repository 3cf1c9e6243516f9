//! What is wrong between this node and the control plane, for the board of problems.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_loops::{Area, ProblemBoard};

/// Collects the problems of several tasks, since each area of the board is replaced as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Troubles {
    board: ProblemBoard,
    // A plain lock: it is held for one map operation and one write to the board, never over an await.
    present: Arc<Mutex<BTreeMap<&'static str, String>>>,
}

impl Troubles {
    pub(crate) fn new(board: ProblemBoard) -> Self {
        Self {
            board,
            present: Arc::default(),
        }
    }

    /// What `subject` has now; `None`: it is well.
    pub(crate) fn set(&self, subject: &'static str, message: Option<String>) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            Some(message) => present.insert(subject, message),
            None => present.remove(subject),
        };
        let list = present.iter();
        let list = list.map(|(subject, message)| ((*subject).to_owned(), message.clone()));
        self.board.replace(Area::Node, list.collect());
    }
}
