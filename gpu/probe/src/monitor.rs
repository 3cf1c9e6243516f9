//! What the probe decides, without doing any of it: what the child says and the time go in, messages to
//! the child, reports to the owner, starts and kills of the child come out.
//!
//! ```text
//!             spawned          opened: ready
//!   down ───────────> opening ──────────────> up
//!    ^ retry later       │  opened: no driver │
//!    └───────────────────┴────────────────────┘  frozen, crashed, driver gone
//! ```
//!
//! A deadline never ends a call: it only decides what is reported meanwhile. An answer that comes late
//! is as good as one in time.

mod calls;
mod child;
mod gpu;
mod questions;
mod round;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use base_daemon::Backoff;
use gpu_model::{DriverState, GpuUuid, MachineFacts, ProbeReport, TopologyLevel};

use crate::wire::{Busy, FromChild, ToChild};
use gpu::{Ill, Slot};
use questions::Questions;
use round::Round;

/// The child is asked this often whether it lives: a frozen one is noticed within two of these, and two
/// wake-ups in five seconds cost nothing.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The thread that answers makes no other calls, so a child that takes this long is frozen or dead.
const HEARTBEAT_DEADLINE: Duration = Duration::from_secs(5);

/// A GPU that needs longer for a question is told to be unresponsive. A question is up to a hundred
/// calls of well under a millisecond; a GPU that is initialised by the first of them takes a second or
/// two.
const CALL_DEADLINE: Duration = Duration::from_secs(5);

/// Without persistence mode, loading the library initialises each GPU: a machine with eight was seen to
/// need several seconds.
const OPEN_DEADLINE: Duration = Duration::from_secs(15);

/// A library that hangs as a whole is given up after this, in case only this process is affected. Long,
/// because a restart loses the events in between and cures nothing that hangs in the kernel.
const STUCK_RESTART: Duration = Duration::from_secs(60);

/// Facts and readings of all GPUs are taken this often, whatever events say.
const POLL: Duration = Duration::from_secs(60);

/// The same, while a GPU is still joining its NVLink fabric, which takes seconds to minutes after boot.
const SETTLING_POLL: Duration = Duration::from_secs(10);

/// Between a sign that something changed and the look: a driver that is being installed gives many.
const NUDGE_DELAY: Duration = Duration::from_secs(1);

/// First and longest pause between children.
const RESTART_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Something to be done.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    /// Start a child, then say so by [`Monitor::spawned`] or [`Monitor::ended`].
    Start,
    /// Kill the child there is.
    Kill,
    /// Send this to it.
    Send(ToChild),
    /// Tell the owner.
    Report(ProbeReport),
}

/// Where the library is looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct LibraryPlaces {
    pub(crate) file: Option<PathBuf>,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) sysfs: PathBuf,
}

/// The child as far as it is known.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// There is none until then.
    Down { until: Instant },
    /// One has been asked for.
    Starting,
    /// It loads the library since then.
    Opening { since: Instant },
    /// It answers questions since then.
    Up { since: Instant },
}

/// Everything the probe knows.
#[derive(Debug)]
pub(crate) struct Monitor {
    places: LibraryPlaces,
    phase: Phase,
    /// As it was reported last.
    driver: DriverState,
    restarts: Backoff,
    last_start: Instant,
    /// The newest ping has not been answered since then.
    unanswered_ping: Option<Instant>,
    next_ping: Instant,
    questions: Questions,
    /// Calls that had not returned at the newest ping.
    busy: Vec<Busy>,
    /// When the newest count that was answered was asked.
    library_worked: Option<Instant>,
    /// The library hangs as a whole since then.
    stuck_since: Option<Instant>,
    slots: BTreeMap<u32, Slot>,
    /// GPUs that were reported as unresponsive or lost.
    ill: BTreeMap<GpuUuid, Ill>,
    watched: BTreeSet<GpuUuid>,
    /// Nobody listened for a while.
    events_lost: bool,
    round: Round,
    recounts: u32,
    /// Another round is wanted when this one is over.
    again: bool,
    next_round: Instant,
    /// As it was reported last, if it still holds.
    machine: Option<MachineFacts>,
    /// They stay while the same GPUs are there: asked once.
    levels: (Vec<GpuUuid>, Vec<Vec<TopologyLevel>>),
    effects: Vec<Effect>,
}

impl Monitor {
    /// A monitor that wants a child at once.
    pub(crate) fn new(now: Instant, places: LibraryPlaces) -> Self {
        let (first, last) = RESTART_PAUSES;
        Self {
            places,
            phase: Phase::Down { until: now },
            driver: DriverState::Unknown,
            restarts: Backoff::new(first, last),
            last_start: now,
            unanswered_ping: None,
            next_ping: now,
            questions: Questions::default(),
            busy: Vec::new(),
            library_worked: None,
            stuck_since: None,
            slots: BTreeMap::new(),
            ill: BTreeMap::new(),
            watched: BTreeSet::new(),
            events_lost: false,
            round: Round::Idle,
            recounts: 0,
            again: false,
            next_round: now,
            machine: None,
            levels: Default::default(),
            effects: Vec::new(),
        }
    }

    /// What is to be done now, in this order.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The child said something.
    pub(crate) fn heard(&mut self, now: Instant, message: FromChild) {
        match message {
            FromChild::Opened(state) => self.opened(now, state),
            FromChild::Pong(busy) => {
                self.unanswered_ping = None;
                self.judge(now, &busy);
            }
            FromChild::Answer(id, answer) => self.answered(now, id, answer),
            FromChild::Watching(gpu) => {
                tracing::debug!(%gpu, "relaying events");
            }
            FromChild::Unwatched(gpu, failure) => self.unwatched(now, gpu, &failure),
            FromChild::Event(event) => self.event(now, event),
            FromChild::Missed => {
                self.report(ProbeReport::Missed);
                self.start_round(now);
            }
        }
    }

    /// Look at all GPUs, now.
    pub(crate) fn rescan(&mut self, now: Instant) {
        self.start_round(now);
    }

    /// Something changed where libraries or device nodes lie.
    pub(crate) fn nudge(&mut self, now: Instant) {
        match &mut self.phase {
            Phase::Down { until } => *until = (self.last_start + NUDGE_DELAY).max(now).min(*until),
            Phase::Up { .. } => self.look_soon(now),
            Phase::Starting | Phase::Opening { .. } => {}
        }
    }

    /// Begins a round in a moment. Not at once: what asks for this may happen again in the round itself.
    fn look_soon(&mut self, now: Instant) {
        self.next_round = self.next_round.min(now + NUDGE_DELAY);
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now: Instant) {
        match self.phase {
            Phase::Down { until } if now >= until => self.start(now),
            Phase::Down { .. } | Phase::Starting => {}
            Phase::Opening { since } => {
                self.check_heart(now);
                self.check_opening(now, since);
            }
            Phase::Up { .. } => {
                self.check_heart(now);
                self.check_calls(now);
                self.retry_gpus(now);
                if now >= self.next_round && matches!(self.round, Round::Idle) {
                    self.start_round(now);
                }
            }
        }
    }

    /// When [`Monitor::tick`] is to be called, if nothing else happens.
    pub(crate) fn wake(&self) -> Option<Instant> {
        let heart = self
            .unanswered_ping
            .map_or(self.next_ping, |sent| sent + HEARTBEAT_DEADLINE);
        match self.phase {
            Phase::Starting => None,
            Phase::Down { until } => Some(until),
            Phase::Opening { since } => Some(heart.min(self.opening_deadline(since))),
            Phase::Up { .. } if self.stuck_since.is_some() => self
                .stuck_since
                .map(|since| heart.min(since + STUCK_RESTART)),
            Phase::Up { .. } => {
                let round = matches!(self.round, Round::Idle).then_some(self.next_round);
                let retries = self.slots.values().filter_map(Slot::retry_at).min();
                [Some(heart), round, retries, self.questions.next_deadline()]
                    .into_iter()
                    .flatten()
                    .min()
            }
        }
    }

    fn report(&mut self, report: ProbeReport) {
        self.effects.push(Effect::Report(report));
    }

    /// Reports a state of the driver that is not the one reported last.
    fn report_driver(&mut self, state: DriverState) {
        if self.driver != state {
            self.driver = state.clone();
            self.report(ProbeReport::Driver(state));
        }
    }
}

#[cfg(test)]
mod tests;
