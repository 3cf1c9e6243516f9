//! The child: started, opened, asked whether it lives, started again.

use std::time::Instant;

use gpu_model::DriverState;

use super::{
    Effect, HEARTBEAT, HEARTBEAT_DEADLINE, Monitor, OPEN_DEADLINE, Phase, RESTART_PAUSES, Round,
    STUCK_RESTART,
};
use crate::wire::ToChild;

impl Monitor {
    pub(super) fn start(&mut self, now: Instant) {
        self.phase = Phase::Starting;
        self.last_start = now;
        self.effects.push(Effect::Start);
    }

    /// There is a child.
    pub(crate) fn spawned(&mut self, now: Instant) {
        self.phase = Phase::Opening { since: now };
        self.unanswered_ping = None;
        self.next_ping = now + HEARTBEAT;
        let places = self.places.clone();
        self.effects.push(Effect::Send(ToChild::Open {
            file: places.file,
            folders: places.folders,
            sysfs: places.sysfs,
        }));
    }

    /// There is no child: it ended by itself, or could not be started.
    pub(crate) fn ended(&mut self, now: Instant, why: &str) {
        self.restart(now, &format!("the process that talks to NVML ended: {why}"));
    }

    /// The library is open, or is not.
    pub(super) fn opened(&mut self, now: Instant, state: DriverState) {
        if state == DriverState::Ready {
            // That it works is reported when it has counted its GPUs.
            self.phase = Phase::Up { since: now };
            return self.start_round(now);
        }
        if self.driver != state {
            // Things are moving: look again soon.
            self.restarts.reset();
            tracing::debug!(?state, "the GPU driver does not work");
        }
        self.forget_gpus();
        self.report_driver(state);
        self.down(now);
    }

    /// Gives up the child there is and tells why.
    pub(super) fn restart(&mut self, now: Instant, why: &str) {
        tracing::warn!(why, "the process that talks to NVML is started again");
        let detail = format!("{why}; it is started again");
        self.report_driver(DriverState::Unresponsive { detail });
        self.down(now);
    }

    /// Ends the child there is; there will be another one later.
    pub(super) fn down(&mut self, now: Instant) {
        let (_, longest) = RESTART_PAUSES;
        if let Phase::Up { since } = self.phase {
            self.events_lost = true;
            if now.duration_since(since) > longest {
                // It worked for a good while, so this is a new trouble.
                self.restarts.reset();
            }
        }
        self.effects.push(Effect::Kill);
        self.phase = Phase::Down {
            until: now + self.restarts.step(),
        };
        self.unanswered_ping = None;
        self.questions.clear();
        self.library_worked = None;
        self.stuck_since = None;
        self.watched.clear();
        self.round = Round::Idle;
        for slot in self.slots.values_mut() {
            slot.child_is_gone(now);
        }
    }

    /// Asks whether it lives, and draws the conclusion when it does not say so.
    pub(super) fn check_heart(&mut self, now: Instant) {
        match self.unanswered_ping {
            Some(sent) if now >= sent + HEARTBEAT_DEADLINE => {
                let seconds = HEARTBEAT_DEADLINE.as_secs();
                self.restart(
                    now,
                    &format!("the process that talks to NVML is frozen for {seconds} s"),
                );
            }
            None if now >= self.next_ping => self.ping(now),
            _ => {}
        }
    }

    /// Asks whether it lives and which calls hang.
    pub(super) fn ping(&mut self, now: Instant) {
        if self.unanswered_ping.is_none() {
            self.unanswered_ping = Some(now);
            self.next_ping = now + HEARTBEAT;
            self.effects.push(Effect::Send(ToChild::Ping));
        }
    }

    /// Tells when loading the library takes too long, and gives up in the end.
    pub(super) fn check_opening(&mut self, now: Instant, since: Instant) {
        if !matches!(self.phase, Phase::Opening { .. }) {
            return;
        }
        if now >= since + OPEN_DEADLINE + STUCK_RESTART {
            self.down(now);
        } else if now >= since + OPEN_DEADLINE {
            let seconds = OPEN_DEADLINE.as_secs();
            let detail = format!("nvmlInit has not returned for {seconds} s");
            if !matches!(self.driver, DriverState::Unresponsive { .. }) {
                self.report_driver(DriverState::Unresponsive { detail });
            }
        }
    }

    pub(super) fn opening_deadline(&self, since: Instant) -> Instant {
        match self.driver {
            DriverState::Unresponsive { .. } => since + OPEN_DEADLINE + STUCK_RESTART,
            _ => since + OPEN_DEADLINE,
        }
    }

    /// No GPU is known any more.
    pub(super) fn forget_gpus(&mut self) {
        self.events_lost = false;
        self.slots.clear();
        self.ill.clear();
        self.machine = None;
        self.levels = Default::default();
    }
}
