//! A pod's place in the line of starts.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::slots::{Place, Slot, Slots};

/// A runtime call that takes longer keeps its pod waiting, but not the others: the slot goes back.
const OVERDUE: Duration = Duration::from_secs(10);

/// A start that has nothing to do for longer is blocked by something slow, an image pull or a
/// back-off. Network details and the look for an image come well within.
const LINGER: Duration = Duration::from_millis(300);

/// The pod's part of the bounded starts.
#[derive(Debug)]
pub(super) struct StartSlot {
    slots: Slots,
    place: Place,
    state: State,
    /// Since when the holder has had nothing to start.
    idle_since: Option<Instant>,
    /// Since when the oldest starting call runs.
    busy_since: Option<Instant>,
}

#[derive(Debug)]
enum State {
    Away,
    Standing(oneshot::Receiver<Slot>),
    Held { _slot: Slot },
}

/// How far the start of the pod is, after a plan has been followed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Progress {
    /// Everything that was to start has started, or the pod does not start any more.
    Started,
    /// Starting calls run, the oldest since then.
    Busy(Instant),
    /// Something is to be started, and waits for the slot.
    Queued,
    /// Not started, and nothing to do about it right now.
    Idle,
}

impl StartSlot {
    /// A pod with its place in the line.
    pub(super) fn new(slots: Slots) -> Self {
        let place = slots.draw();
        Self {
            slots,
            place,
            state: State::Away,
            idle_since: None,
            busy_since: None,
        }
    }

    /// Whether something may be started. Without a slot the pod stands in line from now on.
    pub(super) fn ask(&mut self) -> bool {
        if matches!(self.state, State::Away) {
            self.state = State::Standing(self.slots.stand(self.place));
        }
        if let State::Standing(line) = &mut self.state
            && let Ok(slot) = line.try_recv()
        {
            self.state = State::Held { _slot: slot };
        }
        matches!(self.state, State::Held { .. })
    }

    /// Resolves when it is the pod's turn; never when it does not stand in line. Cancel-safe: a slot
    /// that has come stays in the channel until it is taken.
    pub(super) async fn turn(&mut self) {
        match &mut self.state {
            State::Standing(line) => match line.await {
                Ok(slot) => self.state = State::Held { _slot: slot },
                // Somebody else stood at the same place: cannot happen, and asking again is right.
                Err(_) => self.state = State::Away,
            },
            State::Away | State::Held { .. } => std::future::pending().await,
        }
    }

    /// Gives the slot back or leaves the line when that is due.
    pub(super) fn review(&mut self, progress: Progress, now: Instant) {
        self.busy_since = None;
        let idle_since = self.idle_since.take();
        match (&self.state, progress) {
            (State::Away, _) | (State::Standing(_) | State::Held { .. }, Progress::Queued) => {}
            (State::Standing(_), _) => self.state = State::Away,
            (State::Held { .. }, Progress::Started) => self.give_back(),
            (State::Held { .. }, Progress::Busy(since)) => {
                if now >= since + OVERDUE {
                    self.give_back();
                } else {
                    self.busy_since = Some(since);
                }
            }
            (State::Held { .. }, Progress::Idle) => {
                let since = idle_since.unwrap_or(now);
                if now >= since + LINGER {
                    self.give_back();
                } else {
                    self.idle_since = Some(since);
                }
            }
        }
    }

    /// When to review again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let overdue = self.busy_since.map(|since| since + OVERDUE);
        overdue.or(self.idle_since.map(|since| since + LINGER))
    }

    /// The next start stands at the end of the line, so that a pod that hangs again and again does
    /// not go before others.
    fn give_back(&mut self) {
        self.state = State::Away;
        self.place = self.slots.draw();
    }
}
