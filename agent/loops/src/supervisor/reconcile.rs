//! Starts, stops and holds back pods as `core::roster` says.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_core::{
    Change, KnownPod, Life, PodHave, PodMemory, PodUid, PodView, Stage as PodStage, Stop, StopWhy,
    Synced, decide, roster,
};

use super::{Entry, Supervisor};
use crate::events::{EventKind, Subject};
use crate::mailbox::Mailbox;
use crate::pod::PodStart;
use crate::ports::{SourceSnapshot, WantedPod};
use crate::problems::Area;
use crate::snapshot::PodSnapshot;

impl Supervisor {
    pub(super) fn take_source(&mut self, index: usize, snapshot: SourceSnapshot) {
        let Some(source) = self.sources.get_mut(index) else {
            return;
        };
        let problems = snapshot.problems.iter().map(|problem| {
            let message = match &problem.running_on {
                Some(pod) => format!(
                    "{}; pod {pod} goes on from the last good content",
                    problem.message
                ),
                None => problem.message.clone(),
            };
            (problem.path.display().to_string(), message)
        });
        self.problems
            .replace(Area::Source(source.name), problems.collect());
        source.latest = Some(snapshot);
        self.climb();
        self.reconcile();
    }

    /// Goes live once every source has reported.
    pub(super) fn climb(&mut self) {
        let Some(observed) = self.observed.take() else {
            return;
        };
        match observed.sync(self.sources.iter().map(|source| source.latest.as_ref())) {
            Err(observed) => self.observed = Some(observed),
            Ok(synced) => {
                let (live, holders) = synced.live();
                tracing::info!(holders = holders.len(), "all pod sources have reported");
                self.search_host(&live);
                self.live = Some(live);
                self.take_leftovers(holders);
                self.syncing = None;
            }
        }
    }

    /// Compares what is wanted with what is known, and acts.
    pub(super) fn reconcile(&mut self) {
        let snapshots = self
            .sources
            .iter()
            .filter_map(|source| source.latest.as_ref());
        let wanted: Vec<WantedPod> = snapshots
            .flat_map(|snapshot| snapshot.pods.iter().cloned())
            .collect();
        let names: Vec<_> = wanted
            .iter()
            .map(|pod| (&pod.want.uid, &pod.want.name))
            .collect();
        let proof = self.live.as_ref().map(|live| live as &dyn Synced);
        let changes = roster(&self.known(), &names, proof);
        // Of two pods with one UID the first counts.
        let mut by_uid: BTreeMap<&PodUid, &WantedPod> = BTreeMap::new();
        for pod in &wanted {
            by_uid.entry(&pod.want.uid).or_insert(pod);
        }
        let mut waiting = BTreeMap::new();
        for change in &changes {
            match change {
                // Nothing is left of it here, and its object goes as soon as the API agrees.
                Change::Start(uid) if self.buried.contains_key(uid) => {}
                Change::Start(uid) => by_uid.get(uid).into_iter().for_each(|pod| self.start(pod)),
                Change::Keep(uid) => by_uid.get(uid).into_iter().for_each(|pod| self.keep(pod)),
                Change::Stop { uid, why } => self.stop(uid, *why),
                Change::Wait { uid, behind } => {
                    if let Some(pod) = by_uid.get(uid) {
                        waiting.insert(uid.clone(), self.hold_back(pod, behind, &by_uid));
                    }
                }
            }
        }
        for pod in by_uid.values().filter(|pod| pod.want.deletion.is_some()) {
            self.delete(pod);
        }
        self.buried.retain(|uid, _| by_uid.contains_key(uid));
        waiting.extend(self.buried.clone());
        self.show_waiting(waiting);
    }

    fn known(&self) -> Vec<KnownPod<'_>> {
        let tasks = self.entries.iter().map(|(uid, entry)| {
            let stage = if entry.stop.is_some() {
                PodStage::Stopping
            } else {
                PodStage::Kept
            };
            KnownPod {
                uid,
                name: &entry.name,
                stage,
            }
        });
        let found = self.found.iter();
        let found = found.map(|(uid, found)| KnownPod {
            uid,
            name: &found.name,
            stage: PodStage::Found,
        });
        tasks.chain(found).collect()
    }

    fn start(&mut self, pod: &WantedPod) {
        let uid = &pod.want.uid;
        tracing::info!(pod = %pod.want.name, %uid, "pod is wanted");
        let found = self.found.remove(uid);
        let touched = found.as_ref().is_some_and(|found| found.touched);
        let refusal = self.refusal(pod, found.as_ref());
        self.enter(PodStart {
            refusal,
            uid: uid.clone(),
            name: pod.want.name.clone(),
            want: Some(pod.clone()),
            stop: None,
            seen: found.and_then(|found| found.seen),
            touched,
        });
    }

    /// The same pod may have a newer manifest.
    fn keep(&mut self, pod: &WantedPod) {
        let Some(entry) = self.entries.get_mut(&pod.want.uid) else {
            return;
        };
        // A file that is read again makes a new manifest of the same pod, which is no news.
        let same = |old: &WantedPod| {
            Arc::ptr_eq(&old.manifest, &pod.manifest)
                || (pod.want.is_static && old.want == pod.want)
        };
        if !entry.want.as_ref().is_some_and(same) {
            entry.want = Some(pod.clone());
            entry.mailbox.put(|letter| letter.want = Some(pod.clone()));
        }
    }

    fn stop(&mut self, uid: &PodUid, why: StopWhy) {
        let stop = Stop {
            why,
            at: self.around.now(),
            grace: None,
        };
        if let Some(entry) = self.entries.get_mut(uid) {
            tracing::info!(pod = %entry.name, %uid, ?why, "pod is to stop");
            entry.stop = Some(stop);
            entry.mailbox.put(|letter| letter.stop = Some(stop));
        } else if let Some(found) = self.found.remove(uid) {
            tracing::info!(pod = %found.name, %uid, "nobody wants this pod");
            self.enter(PodStart {
                refusal: None,
                uid: uid.clone(),
                name: found.name,
                want: None,
                stop: Some(stop),
                seen: found.seen,
                touched: found.touched,
            });
        }
    }

    /// Stops a pod that was deleted in the API. A later request can only shorten the grace period.
    fn delete(&mut self, pod: &WantedPod) {
        let (Some(deletion), Some(entry)) =
            (pod.want.deletion, self.entries.get_mut(&pod.want.uid))
        else {
            return;
        };
        let request = Stop {
            why: StopWhy::Deleted,
            at: self.around.now(),
            grace: Some(deletion.grace),
        };
        let stop = match entry.stop {
            Some(old) => old.merged(request, pod.want.grace),
            None => request,
        };
        if entry.stop != Some(stop) {
            tracing::info!(pod = %entry.name, uid = %pod.want.uid, grace = ?deletion.grace, "pod is deleted");
            entry.stop = Some(stop);
            entry.mailbox.put(|letter| letter.stop = Some(stop));
        }
    }

    /// Keeps what a deleted pod showed last, so that its object can be brought up to date and removed.
    pub(super) fn bury(&mut self, uid: &PodUid, last: Arc<PodSnapshot>) {
        let mut wanted = self
            .sources
            .iter()
            .filter_map(|source| source.latest.as_ref())
            .flat_map(|snapshot| &snapshot.pods);
        if wanted.any(|pod| pod.want.uid == *uid && pod.want.deletion.is_some()) {
            self.buried.insert(uid.clone(), last);
        }
    }

    fn enter(&mut self, start: PodStart) {
        self.arrivals += 1;
        let mailbox = Mailbox::new();
        let entry = Entry {
            name: start.name.clone(),
            want: start.want.clone(),
            stop: start.stop,
            refusal: start.refusal.clone(),
            mailbox: mailbox.clone(),
            arrival: self.arrivals,
            since: self.around.now(),
            panics: 0,
        };
        self.entries.insert(start.uid.clone(), entry);
        self.begin(start, mailbox, None);
    }

    /// A wanted pod that has to wait until its name is free.
    fn hold_back(
        &self,
        pod: &WantedPod,
        behind: &PodUid,
        wanted: &BTreeMap<&PodUid, &WantedPod>,
    ) -> Arc<PodSnapshot> {
        let (uid, name) = (&pod.want.uid, &pod.want.name);
        // A pod that waits behind one that stays is a mistake; behind one that goes, it is not.
        let stays = behind != uid && wanted.contains_key(behind);
        let (kind, reason, message) = if stays {
            let advice = "rename one of the two";
            (
                EventKind::Warning,
                "NameTaken",
                format!("pod {name} (UID {behind}) has this name: {advice}"),
            )
        } else {
            let message = format!("waits until the earlier pod {name} (UID {behind}) is gone");
            (EventKind::Normal, "WaitingForName", message)
        };
        let mut snapshot = never_run(self, pod);
        snapshot.status.reason = reason.to_owned();
        snapshot.status.message.clone_from(&message);
        let shown = self
            .board
            .get(uid)
            .is_some_and(|shown| shown.status.message == message);
        if !shown && !self.entries.contains_key(uid) {
            let about = Subject::Pod {
                uid: uid.clone(),
                name: name.clone(),
            };
            self.around
                .events
                .record(kind, about, reason, message, None);
        }
        Arc::new(snapshot)
    }

    /// Shows the pods that wait for a name beside those with a task. A pod that waits for its own
    /// earlier life is shown as that.
    fn show_waiting(&mut self, waiting: BTreeMap<PodUid, Arc<PodSnapshot>>) {
        let before = self.board.len();
        self.board
            .retain(|uid, _| self.entries.contains_key(uid) || waiting.contains_key(uid));
        let mut changed = self.board.len() != before;
        for (uid, snapshot) in waiting {
            if !self.entries.contains_key(&uid)
                && !self
                    .board
                    .get(&uid)
                    .is_some_and(|shown| shown.shows(&snapshot))
            {
                self.board.insert(uid, snapshot);
                changed = true;
            }
        }
        if changed {
            self.publish();
        }
    }
}

/// What `decide` shows of a pod of which nothing is there.
fn never_run(supervisor: &Supervisor, pod: &WantedPod) -> PodSnapshot {
    let now = supervisor.around.now();
    let have = PodHave::default();
    let memory = PodMemory::adopt(&have, now);
    let view = PodView {
        uid: &pod.want.uid,
        name: &pod.want.name,
        want: Some(&pod.want),
        have: &have,
        memory: &memory,
        probes: &BTreeMap::new(),
        stop: None,
        running: &std::collections::BTreeSet::new(),
        rules: &supervisor.around.settings.rules,
    };
    PodSnapshot {
        uid: pod.want.uid.clone(),
        name: pod.want.name.clone(),
        manifest: Some(Arc::clone(&pod.manifest)),
        life: Life::Waiting,
        status: decide(&view, now).status,
        steps: Vec::new(),
        queued: false,
        failures: BTreeMap::new(),
        grants: Arc::default(),
    }
}
