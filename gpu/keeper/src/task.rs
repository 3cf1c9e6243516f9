//! The owner task: the only place where books change.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base_daemon::Chain;
use gpu_model::{Ask, DriverState, Owner, OwnerId, ProbeReport, Time};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::blocking::blocking;
use crate::clock::{Clock, after};
use crate::documents::{Change, Documents};
use crate::effects::{Effects, Save};
use crate::hold::{Grant, grants};
use crate::journal;
use crate::keeper::{Command, KeeperSettings, Outlets};
use crate::notice::{Notice, Subject};
use crate::openness::Openness;
use crate::probe::ProbeAsk;
use crate::refusal::Refusal;
use crate::snapshot::{Renderer, Wrong};
use crate::state::State;

/// Repeated faults wait this long for more of their kind before they are written down.
const SAVE_DELAY: Duration = Duration::from_secs(1);
/// A disk that refused the journal is tried again after this time: nothing tells when it has room.
const SAVE_RETRY: Duration = Duration::from_secs(10);
/// Reports taken in before their consequences are drawn: a scan brings one for each GPU.
const BATCH: usize = 64;
/// Owners whose last refusal is remembered, so that it is told once. There are fewer pods on a node.
const REFUSED: usize = 1024;

/// The task's own things.
#[derive(Debug)]
pub(crate) struct Task {
    state: State,
    documents: Documents,
    renderer: Renderer,
    journal: PathBuf,
    boot: String,
    clock: Clock,
    asks: mpsc::Sender<ProbeAsk>,
    outlets: Outlets,
    damage: Option<String>,
    /// Why the journal could not be written.
    unsaved: Option<String>,
    save_at: Option<Instant>,
    /// Hold times that ended up to here have had their reading asked for.
    held_until: Time,
    refused: BTreeMap<OwnerId, Refusal>,
    open: Openness,
}

enum Woken {
    Command(Option<Command>),
    Report(Option<ProbeReport>),
    Time,
}

impl Task {
    pub(crate) fn new(
        settings: KeeperSettings,
        asks: mpsc::Sender<ProbeAsk>,
        outlets: Outlets,
    ) -> Self {
        let KeeperSettings {
            journal,
            cdi_folder,
            site,
            boot,
        } = settings;
        let clock = Clock::start();
        let recalled = journal::recall(&journal, &boot, clock.now());
        let damage = recalled.damage.clone();
        Self {
            state: State::recalled(recalled),
            documents: Documents::new(cdi_folder, site),
            renderer: Renderer::default(),
            journal,
            boot,
            clock,
            asks,
            outlets,
            damage,
            unsaved: None,
            save_at: None,
            held_until: clock.now(),
            refused: BTreeMap::new(),
            open: Openness::default(),
        }
    }

    /// Runs until the last handle is dropped.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        mut reports: mpsc::Receiver<ProbeReport>,
    ) {
        self.documents.recall().await;
        let now = self.clock.now();
        if let Some(damage) = self.damage.clone() {
            self.state.tell_node(now, true, "JournalDamaged", damage);
        }
        self.state.effects.publish = true;
        self.settle().await;
        let mut probing = true;
        loop {
            let wake = self.next_wake();
            // All three arms can be dropped without loss; the work is done below.
            let woken = tokio::select! {
                command = commands.recv() => Woken::Command(command),
                report = reports.recv(), if probing => Woken::Report(report),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => Woken::Time,
            };
            match woken {
                Woken::Command(Some(command)) => self.obey(command).await,
                Woken::Command(None) => return,
                Woken::Report(Some(report)) => self.hear(report, &mut reports),
                Woken::Report(None) => {
                    probing = false;
                    let detail = "the probe has ended; restart the agent".to_owned();
                    let now = self.clock.now();
                    self.state
                        .driver_is(DriverState::Unresponsive { detail }, now);
                }
                Woken::Time => self.on_time().await,
            }
            self.settle().await;
        }
    }

    fn hear(&mut self, first: ProbeReport, reports: &mut mpsc::Receiver<ProbeReport>) {
        let now = self.clock.now();
        self.state.hear(first, now);
        for _ in 1..BATCH {
            let Ok(report) = reports.try_recv() else {
                break;
            };
            self.state.hear(report, now);
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Hold(owner, asks, answer) => {
                let result = self.hold(&owner, &asks).await;
                self.note_answer(&owner, &result);
                self.settle().await;
                // Nobody waits any more when the pod was removed meanwhile; its release follows.
                let _ = answer.send(result);
            }
            Command::Release(owner, answer) => {
                self.refused.remove(&owner);
                self.state.release(&owner);
                self.settle().await;
                let _ = answer.send(());
            }
            Command::Adopt(observed, answer) => {
                let now = self.clock.now();
                self.state.adopt(observed, now);
                self.settle().await;
                let _ = answer.send(());
            }
        }
    }

    async fn hold(&mut self, owner: &Owner, asks: &[Ask]) -> Result<Vec<Grant>, Refusal> {
        let change = self.documents.check().await;
        self.described(change);
        let now = self.clock.now();
        let plan = self.state.plan(owner, asks, &self.documents, now)?;
        let grants = grants(asks, &plan, self.documents.document())?;
        if !plan.changed {
            return Ok(grants);
        }
        let before = self.state.occupancy.clone();
        self.state.commit(plan.holding.clone())?;
        self.save().await;
        if let Some(failure) = &self.unsaved {
            self.state.occupancy = before;
            return Err(Refusal::wait("JournalNotWritten", failure.clone()));
        }
        let names = self.state.names(&plan.holding.devices());
        for choice in &plan.choices {
            tracing::debug!(pod = owner.name, uid = owner.id.0, why = %choice, "GPUs chosen");
        }
        let why = plan
            .choices
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ");
        self.notify(Notice {
            at: now,
            warning: false,
            reason: "DevicesGranted",
            subject: Subject::Owner(owner.clone()),
            message: format!("holds {names}"),
            why,
            fault: None,
        });
        Ok(grants)
    }

    /// Tells a refusal once, however often it is asked for.
    fn note_answer(&mut self, owner: &Owner, result: &Result<Vec<Grant>, Refusal>) {
        let Err(refusal) = result else {
            self.refused.remove(&owner.id);
            return;
        };
        if self.refused.get(&owner.id) == Some(refusal) {
            return;
        }
        if self.refused.len() >= REFUSED {
            self.refused.clear();
        }
        self.refused.insert(owner.id.clone(), refusal.clone());
        let at = self.clock.now();
        let subject = Subject::Owner(owner.clone());
        let message = refusal.message().to_owned();
        let reason = refusal.reason();
        let warning = matches!(refusal, Refusal::Never { .. });
        let notice = Notice {
            at,
            warning,
            reason,
            subject,
            message,
            why: String::new(),
            fault: None,
        };
        self.notify(notice);
    }

    async fn on_time(&mut self) {
        let now = self.clock.now();
        for gpu in self.state.health.held_until(self.held_until, now) {
            self.state.effects.ask(ProbeAsk::Read(gpu));
        }
        self.held_until = now;
        // The wait for first readings may be over, which nothing else tells.
        self.state.effects.publish = true;
        if self.save_at.is_some_and(|at| at <= Instant::now()) {
            self.save_at = None;
            self.state.effects.save(Save::Now);
        }
        let retry = self.documents.retry;
        if retry.is_some_and(|at| at <= Instant::now()) {
            let change = self.documents.retry().await;
            self.described(change);
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let hold = self.state.health.next_hold_end(self.held_until);
        let readings = self.state.first_readings(self.clock.now());
        let times = [hold, readings]
            .into_iter()
            .flatten()
            .map(|time| self.clock.instant(time));
        times.chain(self.save_at).chain(self.documents.retry).min()
    }

    /// Draws the consequences of everything that changed since the last time.
    async fn settle(&mut self) {
        if self.state.effects.describe {
            let State {
                inventory,
                occupancy,
                ..
            } = &self.state;
            let change = self.documents.renew(inventory, occupancy).await;
            self.described(change);
        }
        match self.state.effects.save {
            Save::Now => self.save().await,
            Save::Soon if self.save_at.is_none() => self.save_at = Some(after(SAVE_DELAY)),
            Save::Soon | Save::No => {}
        }
        let effects = std::mem::take(&mut self.state.effects);
        for ask in effects.asks.iter().cloned() {
            if self.asks.try_send(ask).is_err() {
                tracing::debug!("the probe is behind; its slow poll has to do");
            }
        }
        self.publish(&effects);
        effects
            .notices
            .into_iter()
            .for_each(|notice| self.notify(notice));
    }

    async fn save(&mut self) {
        let (path, record) = (
            self.journal.clone(),
            journal::record(&self.state, &self.boot),
        );
        let write = move || base_ledger::store(&path, journal::VERSION, &record);
        let stored = blocking(write)
            .await
            .and_then(|stored| stored.map_err(|error| Chain(&error).to_string()));
        let before = self.unsaved.take();
        match stored {
            Ok(()) => {
                self.save_at = None;
                self.state.effects.publish |= before.is_some();
            }
            Err(failure) => {
                if before.as_ref() != Some(&failure) {
                    let now = self.clock.now();
                    self.state
                        .tell_node(now, true, "JournalNotWritten", failure.clone());
                    self.state.effects.publish = true;
                }
                self.unsaved = Some(failure);
                self.save_at = Some(after(SAVE_RETRY));
            }
        }
    }

    /// Takes note that the CDI document changed.
    fn described(&mut self, change: Change) {
        if !change.any {
            return;
        }
        let gpus = self.state.inventory.gpus().keys().cloned();
        self.state.effects.touched.extend(gpus);
        self.state.effects.publish = true;
        let now = self.clock.now();
        for message in change.complaints {
            self.state
                .tell_node(now, true, "DriverFilesMissing", message);
        }
    }

    fn publish(&mut self, effects: &Effects) {
        if !effects.publish && effects.touched.is_empty() {
            return;
        }
        let now = self.clock.now();
        let (documents, wrong) = (&self.documents, self.wrong());
        let nodes = |gpu: &_| documents.nodes(gpu);
        let snapshot = self
            .renderer
            .render(&self.state, &effects.touched, nodes, wrong, now);
        self.outlets.snapshots.send_replace(Arc::new(snapshot));
        let open = Openness::of(&self.state, &self.documents, self.unsaved.is_none(), now);
        if open.differs(&self.open) {
            self.outlets.changes.send_modify(|count| *count += 1);
        }
        self.open = open;
    }

    fn wrong(&self) -> Vec<Wrong> {
        let journal = || self.journal.display().to_string();
        let folder = || self.documents.folder().display().to_string();
        let damage = self
            .damage
            .iter()
            .map(|what| (journal(), "JournalDamaged", what.clone()));
        let unsaved = self
            .unsaved
            .iter()
            .map(|what| (journal(), "JournalNotWritten", what.clone()));
        let missing = self
            .documents
            .complaints()
            .map(|what| (folder(), "DriverFilesMissing", what.clone()));
        damage.chain(unsaved).chain(missing).collect()
    }

    fn notify(&self, notice: Notice) {
        notice.log();
        // An error means that nobody listens.
        let _ = self.outlets.notices.send(notice);
    }
}
