//! Questions and their answers, and what it means when none comes.

use std::time::Instant;

use gpu_model::DriverState;

use super::{CALL_DEADLINE, Effect, Monitor, Round, STUCK_RESTART};
use crate::wire::{Answer, Busy, Failure, Lane, Question, ToChild};

impl Monitor {
    pub(super) fn ask(&mut self, now: Instant, fresh: bool, question: Question) {
        let id = self.questions.add(now, question.clone());
        self.effects.push(Effect::Send(ToChild::Ask {
            id,
            fresh,
            question,
        }));
    }

    pub(super) fn answered(&mut self, now: Instant, id: u64, answer: Result<Answer, Failure>) {
        let Some(open) = self.questions.take(id) else {
            return;
        };
        match open.question.lane() {
            Lane::Library => self.library_answered(now, open.sent),
            // Nothing was asked: enough calls of this GPU hang already.
            Lane::Gpu(_) if matches!(answer, Err(Failure::Stuck)) => return,
            Lane::Gpu(index) => self.untrip(now, index),
            Lane::Pairs => {}
        }
        match (open.question, answer) {
            (Question::Count, Ok(Answer::Count(driver, count))) => self.counted(now, driver, count),
            (Question::Count, Err(failure)) => self.count_failed(now, failure),
            (Question::Facts(index), Ok(Answer::Facts(facts))) => {
                self.facts_done(now, index, Ok(*facts));
            }
            (Question::Facts(index), Err(failure)) => self.facts_done(now, index, Err(failure)),
            (Question::Reading(_, gpu), Ok(Answer::Reading(reading))) => {
                self.read_done(now, &gpu, Ok(reading));
            }
            (Question::Reading(_, gpu), Err(failure)) => self.read_done(now, &gpu, Err(failure)),
            (Question::Levels(_), Ok(Answer::Levels(levels))) => {
                self.levels_done(now, Some(levels))
            }
            (Question::Levels(_), Err(_)) => self.levels_done(now, None),
            (question, Ok(_)) => tracing::debug!(?question, "answer to another question"),
        }
        self.pump_all(now);
    }

    /// Finds out about questions whose deadline has passed: first, by a ping, in which call they hang.
    pub(super) fn check_calls(&mut self, now: Instant) {
        if self
            .stuck_since
            .is_some_and(|since| now >= since + STUCK_RESTART)
        {
            self.restart(now, "the library hangs as a whole");
        } else if self.questions.mark_passed(now) {
            self.ping(now);
        }
    }

    /// Draws the conclusions from questions whose deadline has passed. A GPU is blamed only when the
    /// library as a whole has answered a question that was asked later.
    pub(super) fn judge(&mut self, now: Instant, busy: &[Busy]) {
        self.busy = busy.to_vec();
        self.judge_again(now);
    }

    fn judge_again(&mut self, now: Instant) {
        if self.stuck_since.is_some() {
            return;
        }
        let passed = self.questions.passed();
        if passed.contains_key(&Lane::Library) {
            return self.library_is_stuck(now);
        }
        for (lane, sent) in passed {
            match lane {
                Lane::Library => {}
                Lane::Pairs => {
                    self.questions.settle(lane);
                    self.levels_done(now, None);
                }
                Lane::Gpu(index) if self.library_worked.is_some_and(|asked| asked > sent) => {
                    self.questions.settle(lane);
                    let trouble = self.what_hangs(lane);
                    self.trip(now, index, trouble);
                }
                Lane::Gpu(_) if self.questions.is_busy(Lane::Library) => {}
                Lane::Gpu(_) => self.ask(now, false, Question::Count),
            }
        }
    }

    fn library_answered(&mut self, now: Instant, asked: Instant) {
        self.library_worked = Some(asked);
        if self.stuck_since.take().is_some() {
            tracing::info!("the library answers again");
            self.questions.forgive(now);
            self.start_round(now);
        } else {
            self.judge_again(now);
        }
    }

    fn library_is_stuck(&mut self, now: Instant) {
        self.stuck_since = Some(now);
        self.round = Round::Idle;
        let detail = self.what_hangs(Lane::Library);
        tracing::warn!(detail, "the library does not answer");
        self.report_driver(DriverState::Unresponsive { detail });
    }

    /// The call that a lane hangs in, in words.
    fn what_hangs(&self, lane: Lane) -> String {
        let seconds = CALL_DEADLINE.as_secs();
        match self.busy.iter().find(|busy| busy.lane == lane) {
            Some(busy) => format!("{} has not returned for {seconds} s", busy.call),
            None => format!("no answer for {seconds} s"),
        }
    }
}
