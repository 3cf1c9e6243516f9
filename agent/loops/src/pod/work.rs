//! The actions of one pod that are in flight.

use std::collections::{BTreeMap, BTreeSet};

use agent_core::{Action, Fail, Observation, Outcome, Step};
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::Instant;

use super::actions::{self, Gain, Job};

/// Actions in flight. Dropping it aborts them all.
#[derive(Debug, Default)]
pub(super) struct Work {
    tasks: JoinSet<Ended>,
    running: BTreeMap<Action, InFlight>,
    looking: Option<AbortHandle>,
}

#[derive(Debug)]
struct InFlight {
    handle: AbortHandle,
    since: Instant,
}

/// Something that ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// An action.
    Acted {
        /// Which one.
        action: Action,
        /// How it ended.
        outcome: Outcome,
        /// What it has brought.
        gain: Gain,
    },
    /// A look that no plan had asked for.
    Looked(Result<Observation, Fail>),
}

impl Work {
    /// Actions in flight.
    pub(super) fn actions(&self) -> BTreeSet<Action> {
        self.running.keys().cloned().collect()
    }

    /// Since when an action is in flight.
    pub(super) fn since(&self, action: &Action) -> Option<Instant> {
        self.running.get(action).map(|flight| flight.since)
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Starts an action.
    pub(super) fn start(&mut self, job: Job, action: Action) {
        let key = action.clone();
        let handle = self.tasks.spawn(async move {
            let (outcome, gain) = actions::perform(&job, &action).await;
            Ended::Acted {
                action,
                outcome,
                gain,
            }
        });
        self.running.insert(
            key,
            InFlight {
                handle,
                since: Instant::now(),
            },
        );
    }

    /// Looks at the pod, unless a look is under way already.
    pub(super) fn look(&mut self, job: Job) {
        if self.looking.is_none() {
            let look =
                async move { Ended::Looked(job.around.doors.runtime.observe(&job.uid).await) };
            self.looking = Some(self.tasks.spawn(look));
        }
    }

    /// Drops actions that are not in the wave any more, if their kind can be dropped.
    pub(super) fn keep_to(&mut self, wave: &[Step]) {
        self.running.retain(|action, flight| {
            let listed = wave.iter().any(|step| step.action == *action);
            let keep = listed || !action.cancel_safe();
            if !keep {
                flight.handle.abort();
            }
            keep
        });
    }

    /// The next thing that ended; never resolves when nothing runs. Cancel-safe: a result stays in
    /// the set until it is taken.
    pub(super) async fn next(&mut self) -> Ended {
        loop {
            let ended = match self.tasks.join_next().await {
                Some(Ok(ended)) => Some(ended),
                Some(Err(error)) => self.judge(&error),
                None => std::future::pending().await,
            };
            if let Some(ended) = ended {
                self.forget(&ended);
                return ended;
            }
        }
    }

    fn forget(&mut self, ended: &Ended) {
        match ended {
            Ended::Acted { action, .. } => {
                self.running.remove(action);
            }
            Ended::Looked(_) => self.looking = None,
        }
    }

    /// A panic in an action is its failure. A dropped action is nothing.
    fn judge(&self, error: &JoinError) -> Option<Ended> {
        if !error.is_panic() {
            return None;
        }
        let fail = Fail::retry(
            "InternalError",
            "a fault in this program; please report it with the log",
        );
        let is_it = |handle: &AbortHandle| handle.id() == error.id();
        if self.looking.as_ref().is_some_and(is_it) {
            return Some(Ended::Looked(Err(fail)));
        }
        let (action, _) = self
            .running
            .iter()
            .find(|(_, flight)| is_it(&flight.handle))?;
        tracing::error!(?action, %error, "an action panicked");
        let outcome = Outcome::Failed(fail);
        Some(Ended::Acted {
            action: action.clone(),
            outcome,
            gain: Gain::Nothing,
        })
    }
}
