//! Owner task of one pod: it alone knows the pod's memory, and it keeps the actions in flight equal
//! to what `core::decide` wants.

mod actions;
mod follow;
mod letter;
mod start_slot;
mod tell;
mod work;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{
    Action, Life, Observation, Outcome, PodHave, PodMemory, PodName, PodUid, PodView, Refusal,
    Stop, decide, observe, record,
};
use tokio::time::Instant;

use crate::around::Around;
use crate::mailbox::Mailbox;
use crate::ports::WantedPod;
use crate::probes::{ProbeSet, Try};
use crate::snapshot::PodSnapshot;

use actions::{Gain, Job, Kit};
pub(crate) use letter::PodLetter;
use start_slot::StartSlot;
use work::{Ended, Work};

/// Own removals make the runtime tell of deletions, too; news of these that come this soon are no
/// news. A deletion by somebody else in that time is found by the next listing.
const OWN_REMOVAL: Duration = Duration::from_secs(1);

/// Pause after a first look that failed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a pod task begins with.
#[derive(Debug)]
pub(crate) struct PodStart {
    pub(crate) uid: PodUid,
    pub(crate) name: PodName,
    /// `None` for a stranger.
    pub(crate) want: Option<WantedPod>,
    /// Set for a stranger.
    pub(crate) stop: Option<Stop>,
    /// Set for a pod that was not admitted.
    pub(crate) refusal: Option<Refusal>,
    /// The last whole look, `None` when the runtime does not know the pod.
    pub(crate) seen: Option<Observation>,
    /// Something happened since that look.
    pub(crate) touched: bool,
}

/// The task.
#[derive(Debug)]
pub(crate) struct PodTask {
    around: Arc<Around>,
    mailbox: Mailbox<PodLetter>,
    uid: PodUid,
    name: PodName,
    want: Option<WantedPod>,
    stop: Option<Stop>,
    have: PodHave,
    memory: PodMemory,
    kit: Kit,
    probes: ProbeSet,
    work: Work,
    slot: StartSlot,
    /// End of the last removal from the runtime.
    removed_at: Option<Instant>,
    ending: bool,
    shown: Option<Arc<PodSnapshot>>,
}

/// What happens to a pod.
#[derive(Debug)]
enum PodInput {
    Letter(PodLetter),
    Ended(Ended),
    Tried(Try),
    Turn,
    Wake,
}

impl PodTask {
    /// A pod task that has not begun. Its place in the line of starts is drawn here.
    pub(crate) fn new(around: Arc<Around>, mailbox: Mailbox<PodLetter>, start: PodStart) -> Self {
        let have = start.seen.map(|seen| seen.have).unwrap_or_default();
        let mut memory = PodMemory::adopt(&have, around.now());
        // The API remembers the start of a pod whose first sandbox is long gone.
        let started_at = start.want.as_ref().and_then(|want| want.want.started_at);
        memory.seen_at = started_at.map_or(memory.seen_at, |at| at.min(memory.seen_at));
        memory.refusal = start.refusal;
        let slot = StartSlot::new(around.slots.clone());
        if start.touched {
            mailbox.put(|letter| letter.touched = true);
        }
        Self {
            mailbox,
            uid: start.uid,
            name: start.name,
            want: start.want,
            stop: start.stop,
            have,
            memory,
            kit: Kit::default(),
            probes: ProbeSet::new(),
            work: Work::default(),
            slot,
            removed_at: None,
            ending: false,
            shown: None,
            around,
        }
    }

    /// A pod task that takes the place of one that panicked: nothing that was known of the pod is
    /// trusted, so it begins with a look of its own.
    pub(crate) async fn looking(
        around: Arc<Around>,
        mailbox: Mailbox<PodLetter>,
        mut start: PodStart,
    ) -> Self {
        loop {
            match around.doors.runtime.observe(&start.uid).await {
                Ok(seen) => {
                    start.seen = Some(seen);
                    return Self::new(around, mailbox, start);
                }
                Err(error) => tracing::debug!(pod = %start.name, %error, "cannot look at pod"),
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Runs until nothing of the pod is left, or until the agent ends.
    pub(crate) async fn run(mut self) {
        while !self.ending {
            let now = self.around.now();
            let running = self.work.actions();
            let plan = decide(&self.view(&running), now);
            self.memory.end = plan.end;
            if plan.life == Life::Done && running.is_empty() {
                self.show(&plan, false);
                self.around.doors.objects.forget(&self.uid).await;
                tracing::info!(pod = %self.name, uid = %self.uid, "pod is gone from this node");
                return;
            }
            self.follow(&plan);
            let wake = plan.wake.map(|wake| self.around.clock.instant(wake));
            let wake = [wake, self.slot.deadline()].into_iter().flatten().min();
            let input = self.next(wake).await;
            self.apply(input);
        }
        self.wind_down().await;
    }

    async fn next(&mut self, wake: Option<Instant>) -> PodInput {
        let timer = async {
            match wake {
                Some(wake) => tokio::time::sleep_until(wake).await,
                None => std::future::pending().await,
            }
        };
        // Each arm is cancelled when another one is ready, and loses nothing by it.
        tokio::select! {
            // The letter stays in the box.
            letter = self.mailbox.take() => PodInput::Letter(letter),
            // The result stays in the set.
            ended = self.work.next() => PodInput::Ended(ended),
            // The try stays in the channel.
            tried = self.probes.next() => PodInput::Tried(tried),
            // The slot stays in the channel.
            () = self.slot.turn() => PodInput::Turn,
            // The next plan sets the timer anew.
            () = timer => PodInput::Wake,
        }
    }

    fn apply(&mut self, input: PodInput) {
        match input {
            PodInput::Letter(letter) => self.read(letter),
            PodInput::Ended(Ended::Acted {
                action,
                outcome,
                gain,
            }) => {
                self.acted(&action, outcome, gain);
            }
            PodInput::Ended(Ended::Looked(Ok(seen))) => self.look(&seen),
            // The next listing will tell.
            PodInput::Ended(Ended::Looked(Err(_))) | PodInput::Turn | PodInput::Wake => {}
            PodInput::Tried(tried) => self.probes.count(&tried),
        }
    }

    fn read(&mut self, letter: PodLetter) {
        if let Some(want) = letter.want {
            self.memory.references_changed |= self
                .want
                .as_ref()
                .is_some_and(|old| shows_otherwise(old, &want));
            self.want = Some(want);
        }
        if let Some(stop) = letter.stop {
            let grace = self
                .want
                .as_ref()
                .map(|want| want.want.grace)
                .unwrap_or_default();
            self.stop = Some(self.stop.map_or(stop, |old| old.merged(stop, grace)));
        }
        for seen in &letter.looks {
            self.look(seen);
        }
        if letter.touched && !self.removing() {
            self.work.look(self.job(None));
        }
        self.memory.devices_changed |= letter.devices_changed;
        self.memory.references_changed |= letter.references_changed;
        self.ending |= letter.ending;
    }

    fn look(&mut self, seen: &Observation) {
        observe(&mut self.have, &mut self.memory, seen);
        self.forget_probes();
    }

    fn acted(&mut self, action: &Action, outcome: Outcome, gain: Gain) {
        match gain {
            Gain::Nothing => {}
            Gain::Prepared(prepared) => self.kit.prepared = Some(prepared),
            Gain::Grants(grants) => self.kit.grants = Some(grants),
            Gain::Images(container, images) => {
                self.kit.images.insert(container, images);
            }
        }
        match action {
            Action::CleanHost => self.kit.prepared = None,
            Action::ReleaseDevices => self.kit.grants = None,
            Action::RemoveContainer { .. }
            | Action::ClearContainer { .. }
            | Action::RemoveSandbox { .. } => {
                self.removed_at = Some(Instant::now());
            }
            // A runtime without events tells of these only at the next listing.
            Action::CreateSandbox { .. } | Action::StartContainer { .. }
                if !self.around.has_events() =>
            {
                self.work.look(self.job(None));
            }
            _ => {}
        }
        let (now, rules) = (self.around.now(), &self.around.settings.rules);
        record(
            &mut self.have,
            &mut self.memory,
            action,
            outcome,
            now,
            rules,
        );
        self.forget_probes();
    }

    fn forget_probes(&mut self) {
        let containers = &self.have.containers;
        self.probes
            .forget(|id| !containers.iter().any(|container| container.id == *id));
    }

    fn removing(&self) -> bool {
        let removes = |action: &Action| {
            matches!(
                action,
                Action::RemoveContainer { .. }
                    | Action::ClearContainer { .. }
                    | Action::RemoveSandbox { .. }
            )
        };
        self.work.actions().iter().any(removes)
            || self.removed_at.is_some_and(|at| at.elapsed() < OWN_REMOVAL)
    }

    fn view<'a>(&'a self, running: &'a BTreeSet<Action>) -> PodView<'a> {
        PodView {
            uid: &self.uid,
            name: &self.name,
            want: self.want.as_ref().map(|want| &*want.want),
            have: &self.have,
            memory: &self.memory,
            probes: self.probes.results(),
            stop: self.stop.as_ref(),
            running,
            rules: &self.around.settings.rules,
        }
    }

    fn job(&self, action: Option<&Action>) -> Job {
        let sandbox = action.and_then(Action::sandbox_id);
        let sandbox = match sandbox {
            Some(id) => self.have.sandboxes.iter().find(|sandbox| sandbox.id == *id),
            None => self.have.sandboxes.first(),
        };
        let id = action.and_then(Action::container_id);
        let instance = self
            .have
            .containers
            .iter()
            .find(|container| Some(&container.id) == id);
        Job {
            around: Arc::clone(&self.around),
            uid: self.uid.clone(),
            name: self.name.clone(),
            want: self.want.clone(),
            kit: self.kit.clone(),
            sandbox: sandbox.cloned(),
            instance: instance.cloned(),
        }
    }

    /// The agent ends: what can be dropped is dropped, the rest is waited for. Containers stay.
    async fn wind_down(&mut self) {
        self.work.keep_to(&[]);
        while !self.work.is_empty() {
            let ended = self.work.next().await;
            self.apply(PodInput::Ended(ended));
        }
    }
}

/// What downward API volumes show of the metadata is another.
fn shows_otherwise(old: &WantedPod, new: &WantedPod) -> bool {
    let (old, new) = (&old.manifest.metadata, &new.manifest.metadata);
    old.labels != new.labels || old.annotations != new.annotations
}
