//! Questions that the child has not answered yet.

use std::collections::BTreeMap;
use std::time::Instant;

use super::CALL_DEADLINE;
use crate::wire::{Lane, Question};

/// One question on its way.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) question: Question,
    pub(super) sent: Instant,
    deadline: Deadline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deadline {
    At(Instant),
    /// It has passed; what that means is being found out.
    Passed,
    /// It is settled that this one hangs.
    Settled,
}

/// All questions on their way, by id. Bounded: a lane gets one at a time, and while it hangs one more at
/// each retry, which the child refuses after a few.
#[derive(Debug, Default)]
pub(super) struct Questions {
    next_id: u64,
    open: BTreeMap<u64, Open>,
}

impl Questions {
    /// Notes a question and gives it an id.
    pub(super) fn add(&mut self, now: Instant, question: Question) -> u64 {
        self.next_id += 1;
        let deadline = Deadline::At(now + CALL_DEADLINE);
        self.open.insert(
            self.next_id,
            Open {
                question,
                sent: now,
                deadline,
            },
        );
        self.next_id
    }

    /// The question that an answer belongs to.
    pub(super) fn take(&mut self, id: u64) -> Option<Open> {
        self.open.remove(&id)
    }

    /// A question of this lane is on its way.
    pub(super) fn is_busy(&self, lane: Lane) -> bool {
        self.open.values().any(|open| open.question.lane() == lane)
    }

    /// Marks what has passed its deadline. True: there is such a question.
    pub(super) fn mark_passed(&mut self, now: Instant) -> bool {
        let mut any = false;
        for open in self.open.values_mut() {
            if matches!(open.deadline, Deadline::At(at) if at <= now) {
                open.deadline = Deadline::Passed;
            }
            any |= open.deadline == Deadline::Passed;
        }
        any
    }

    /// Lanes with a question whose deadline has passed, each with the time its oldest one was sent.
    pub(super) fn passed(&self) -> BTreeMap<Lane, Instant> {
        let mut lanes = BTreeMap::new();
        for open in self
            .open
            .values()
            .filter(|open| open.deadline == Deadline::Passed)
        {
            let sent = lanes.entry(open.question.lane()).or_insert(open.sent);
            *sent = open.sent.min(*sent);
        }
        lanes
    }

    /// It is settled that the questions of this lane hang.
    pub(super) fn settle(&mut self, lane: Lane) {
        for open in self
            .open
            .values_mut()
            .filter(|open| open.question.lane() == lane)
        {
            if open.deadline == Deadline::Passed {
                open.deadline = Deadline::Settled;
            }
        }
    }

    /// What has passed was not its own fault: everything gets the full time again.
    pub(super) fn forgive(&mut self, now: Instant) {
        for open in self
            .open
            .values_mut()
            .filter(|open| open.deadline == Deadline::Passed)
        {
            open.deadline = Deadline::At(now + CALL_DEADLINE);
        }
    }

    /// The child is gone and will answer nothing.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// The next deadline that has not passed yet.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let at = |open: &Open| match open.deadline {
            Deadline::At(at) => Some(at),
            Deadline::Passed | Deadline::Settled => None,
        };
        self.open.values().filter_map(at).min()
    }
}
