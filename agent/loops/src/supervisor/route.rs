//! Brings what the runtime shows to the pod it belongs to.

use std::collections::BTreeMap;

use agent_core::{Observation, PodHave, PodUid, Time};

use super::Supervisor;
use super::found::Found;
use crate::pleg::RuntimeNews;

impl Supervisor {
    pub(super) fn hear(&mut self, news: RuntimeNews) {
        match news {
            RuntimeNews::Listed { at, pods } => {
                if self.listed(at, pods) {
                    self.reconcile();
                }
            }
            RuntimeNews::Observed(seen) => self.observed(*seen),
            RuntimeNews::Touched(uid) => self.touched(&uid),
        }
    }

    /// Everything that the runtime knows. True: it shows pods without a task.
    pub(super) fn listed(&mut self, at: Time, pods: Vec<Observation>) -> bool {
        let mut pods: BTreeMap<_, _> = pods
            .into_iter()
            .map(|seen| (seen.uid.clone(), seen))
            .collect();
        for (uid, entry) in &self.entries {
            let absent = || Observation {
                uid: uid.clone(),
                name: entry.name.clone(),
                at,
                have: PodHave::default(),
                whole: true,
            };
            let seen = pods.remove(uid).unwrap_or_else(absent);
            if entry.since <= at {
                entry.mailbox.put(|letter| letter.look(seen));
            }
        }
        // What was gone when the look began cannot come back; later looks show the truth.
        pods.retain(|uid, _| self.gone.get(uid).is_none_or(|gone| *gone < at));
        self.gone.retain(|_, gone| *gone >= at);
        self.found
            .retain(|uid, found| found.seen.is_none() || pods.contains_key(uid));
        for (uid, seen) in pods {
            // Something may have happened since this look began, too.
            let touched = self.found.get(&uid).is_some_and(|found| found.touched);
            self.found.insert(uid, Found::in_runtime(seen, touched));
        }
        !self.found.is_empty()
    }

    fn observed(&mut self, seen: Observation) {
        match self.entries.get(&seen.uid) {
            Some(entry) if entry.since <= seen.at => {
                entry.mailbox.put(|letter| letter.look(seen));
            }
            // It is old or shows only a part, so it is not taken for the pod, which is looked at
            // anew. News of a pod that nobody knows are those of one that is gone.
            _ => self.touched(&seen.uid),
        }
    }

    fn touched(&mut self, uid: &PodUid) {
        if let Some(entry) = self.entries.get(uid) {
            entry.mailbox.put(|letter| letter.touched = true);
        } else if let Some(found) = self.found.get_mut(uid) {
            found.touched = true;
        }
    }
}
