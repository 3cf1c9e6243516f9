//! Pods of the past: in the runtime, on the host or among the holders of devices, without a task.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{Observation, PodName, PodUid};

use super::Supervisor;
use crate::ports::Host;
use crate::problems::{Area, ProblemBoard};
use crate::startup::Live;

/// Pause before the host is searched again after that failed.
const SEARCH_AGAIN: Duration = Duration::from_secs(60);

/// A pod without a task.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: PodName,
    /// The last whole look; `None` when the runtime does not know it.
    pub(super) seen: Option<Observation>,
    /// Something happened since that look.
    pub(super) touched: bool,
}

impl Found {
    pub(super) fn in_runtime(seen: Observation, touched: bool) -> Self {
        Self {
            name: seen.name.clone(),
            seen: Some(seen),
            touched,
        }
    }

    /// Directories and devices do not tell the name of their pod; no pod can have this one.
    fn nameless(uid: &PodUid) -> Self {
        Self {
            name: PodName::new("", uid.as_str()),
            seen: None,
            touched: false,
        }
    }
}

/// What a search of the host has found.
pub(super) type Leftovers = BTreeSet<PodUid>;

impl Supervisor {
    /// Looks for pods of the past on the host, beside everything else.
    pub(super) fn search_host(&mut self, _proof: &Live) {
        let (host, problems) = (Arc::clone(&self.around.doors.host), self.problems.clone());
        self.leftovers.spawn(search(host, problems));
    }

    /// Takes pods of which something is left. Those that have a task, or that were just cleaned
    /// away, need nothing.
    pub(super) fn take_leftovers(&mut self, uids: Leftovers) {
        for uid in uids {
            if !self.entries.contains_key(&uid) && !self.gone.contains_key(&uid) {
                self.found
                    .entry(uid.clone())
                    .or_insert_with(|| Found::nameless(&uid));
            }
        }
        self.reconcile();
    }
}

async fn search(host: Arc<dyn Host>, problems: ProblemBoard) -> Leftovers {
    loop {
        match host.leftovers().await {
            Ok(uids) => {
                problems.replace(Area::Host, Vec::new());
                return uids;
            }
            Err(fail) => {
                let problem = ("left-overs of earlier pods".to_owned(), fail.message);
                problems.replace(Area::Host, vec![problem]);
                tokio::time::sleep(SEARCH_AGAIN).await;
            }
        }
    }
}
