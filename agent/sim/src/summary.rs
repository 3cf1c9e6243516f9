//! The world in a form that two runs can be compared in: no identities, no times.

use std::collections::{BTreeMap, BTreeSet};

use agent_core::{PodUid, RunState};

use crate::state::State;

/// Everything that is there, by pod.
pub type Summary = BTreeMap<PodUid, PodSummary>;

/// What is there of one pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodSummary {
    /// Sandboxes that are up, and all.
    pub sandboxes: (usize, usize),
    /// Containers: name, restart count, state, exit code.
    pub containers: BTreeSet<(String, u32, RunState, Option<i32>)>,
    /// Something is on the host.
    pub on_host: bool,
    /// There are logs.
    pub logs: bool,
    /// How many devices it holds.
    pub devices: usize,
}

impl State {
    /// The world as it is now.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::new();
        for sandbox in self.sandboxes.values() {
            let pod = summary.entry(sandbox.uid.clone()).or_default();
            pod.sandboxes.0 += usize::from(sandbox.ready);
            pod.sandboxes.1 += 1;
        }
        for each in self.containers.values() {
            let code = each.exit.as_ref().map(|exit| exit.code);
            let container = (each.name.to_string(), each.attempt, each.state, code);
            summary
                .entry(each.uid.clone())
                .or_default()
                .containers
                .insert(container);
        }
        for uid in &self.prepared {
            summary.entry(uid.clone()).or_default().on_host = true;
        }
        for uid in &self.logs {
            summary.entry(uid.clone()).or_default().logs = true;
        }
        for (uid, grants) in &self.held {
            let devices = grants.iter().map(|grant| grant.devices.len()).sum();
            summary.entry(uid.clone()).or_default().devices = devices;
        }
        summary
    }
}
