//! Probe workers of one pod: one small task per container instance and kind.
//!
//! Workers only ask. What a try means is counted by `core::ProbeState`, which the owner keeps, so a
//! probe that was on hold goes on where it stood.

mod worker;

use std::collections::BTreeMap;

use agent_core::{ContainerId, Probe, ProbeKind, ProbeResults, ProbeState, Probing};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

pub(crate) use worker::ProbeJob;

/// Tries that may wait to be counted: the pod task reads at once, and a pod has few containers.
const TRIES: usize = 16;

/// One answered try.
#[derive(Clone, Debug)]
pub(crate) struct Try {
    pub(crate) probing: Probing,
    pub(crate) success: bool,
}

/// All probes of one pod. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct ProbeSet {
    tasks: JoinSet<()>,
    workers: BTreeMap<Probing, AbortHandle>,
    states: BTreeMap<Probing, (Probe, ProbeState)>,
    results: BTreeMap<ContainerId, ProbeResults>,
    sender: mpsc::Sender<Try>,
    tries: mpsc::Receiver<Try>,
}

impl ProbeSet {
    /// No probes yet.
    pub(crate) fn new() -> Self {
        let (sender, tries) = mpsc::channel(TRIES);
        Self {
            tasks: JoinSet::new(),
            workers: BTreeMap::new(),
            states: BTreeMap::new(),
            results: BTreeMap::new(),
            sender,
            tries,
        }
    }

    /// Present verdicts.
    pub(crate) fn results(&self) -> &BTreeMap<ContainerId, ProbeResults> {
        &self.results
    }

    /// Ends the workers that are not in the list. Returns those of the list that do not run.
    pub(crate) fn keep_to<'a>(&mut self, probing: &'a [Probing]) -> Vec<&'a Probing> {
        self.workers.retain(|worker, handle| {
            let keep = probing.contains(worker);
            if !keep {
                handle.abort();
            }
            keep
        });
        probing
            .iter()
            .filter(|each| !self.workers.contains_key(each))
            .collect()
    }

    /// Starts a worker.
    pub(crate) fn start(&mut self, probing: &Probing, job: ProbeJob) {
        // Before the first verdict there is none to show: `core` knows what that means.
        let state = || {
            (
                job.probe.clone(),
                ProbeState::new(probing.kind, job.adopted),
            )
        };
        self.states.entry(probing.clone()).or_insert_with(state);
        let worker = worker::run(job, probing.clone(), self.sender.clone());
        self.workers
            .insert(probing.clone(), self.tasks.spawn(worker));
    }

    /// Forgets containers that are gone.
    pub(crate) fn forget(&mut self, is_gone: impl Fn(&ContainerId) -> bool) {
        self.states.retain(|probing, _| !is_gone(&probing.id));
        self.results.retain(|id, _| !is_gone(id));
    }

    /// Counts a try.
    pub(crate) fn count(&mut self, tried: &Try) {
        let Some((probe, state)) = self.states.get_mut(&tried.probing) else {
            return;
        };
        let Some(verdict) = state.apply(probe, tried.success) else {
            return;
        };
        let results = self.results.entry(tried.probing.id.clone()).or_default();
        let shown = match tried.probing.kind {
            ProbeKind::Startup => &mut results.startup,
            ProbeKind::Liveness => &mut results.liveness,
            ProbeKind::Readiness => &mut results.readiness,
        };
        *shown = Some(verdict);
    }

    /// The next answered try; never resolves when no probe runs. Cancel-safe: a try stays in the
    /// channel until it is taken.
    pub(crate) async fn next(&mut self) -> Try {
        loop {
            tokio::select! {
                // Cancelled when a worker ended: nothing has been taken from the channel.
                Some(tried) = self.tries.recv() => return tried,
                // Cancelled when a try came: the end of the worker is reported again.
                Some(ended) = self.tasks.join_next() => {
                    if let Err(error) = ended && error.is_panic() {
                        tracing::error!(%error, "a probe panicked; it begins anew");
                        self.workers.retain(|_, handle| handle.id() != error.id());
                    }
                }
            }
        }
    }
}
