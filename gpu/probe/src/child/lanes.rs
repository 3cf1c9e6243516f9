//! One thread for each lane, so that a call that hangs holds up its lane only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use gpu_nvml::{CallMark, mark_calls};

use super::answer::Access;
use super::outbox::Outbox;
use super::run;
use crate::wire::{Busy, Failure, FromChild, Lane, Question};

/// Questions that wait in a lane. The parent asks one at a time, and another one when it has given up on
/// that.
const CAPACITY: usize = 4;

/// Threads of one lane that are left behind in calls that hang. Each costs a stack; when so many hang,
/// another try will, too, and the first to return is answer enough.
const MAX_LEFT_BEHIND: usize = 3;

/// All lanes.
#[derive(Debug)]
pub(super) struct Lanes {
    access: Arc<Access>,
    outbox: Outbox,
    lanes: BTreeMap<Lane, Threads>,
}

/// The threads of one lane.
#[derive(Debug)]
struct Threads {
    current: Worker,
    left_behind: Vec<CallMark>,
}

#[derive(Debug)]
struct Worker {
    questions: SyncSender<(u64, Question)>,
    mark: CallMark,
}

impl Lanes {
    pub(super) fn new(access: Arc<Access>, outbox: Outbox) -> Self {
        Self {
            access,
            outbox,
            lanes: BTreeMap::new(),
        }
    }

    /// Has a question answered, and never waits for it. `fresh`: not behind a call that hangs.
    pub(super) fn ask(&mut self, id: u64, fresh: bool, question: Question) {
        let lane = question.lane();
        let start = || Worker::start(lane, Arc::clone(&self.access), self.outbox.clone());
        let threads = self.lanes.entry(lane).or_insert_with(|| Threads {
            current: start(),
            left_behind: Vec::new(),
        });
        threads.left_behind.retain(|mark| mark.current().is_some());
        if fresh && threads.current.mark.current().is_some() {
            if threads.left_behind.len() >= MAX_LEFT_BEHIND {
                return self.outbox.send(FromChild::Answer(id, Err(Failure::Stuck)));
            }
            let hanging = std::mem::replace(&mut threads.current, start());
            threads.left_behind.push(hanging.mark);
        }
        if threads.current.questions.try_send((id, question)).is_err() {
            self.outbox.send(FromChild::Answer(id, Err(Failure::Stuck)));
        }
    }

    /// Calls that have not returned, the oldest of each lane.
    pub(super) fn busy(&self) -> Vec<Busy> {
        let oldest = |threads: &Threads| {
            let marks = threads.left_behind.iter().chain([&threads.current.mark]);
            marks
                .filter_map(CallMark::current)
                .min_by_key(|(_, since)| *since)
        };
        let busy = self.lanes.iter().filter_map(|(lane, threads)| {
            let (call, _) = oldest(threads)?;
            Some(Busy {
                lane: *lane,
                call: call.to_owned(),
            })
        });
        busy.collect()
    }
}

impl Worker {
    fn start(lane: Lane, access: Arc<Access>, outbox: Outbox) -> Self {
        let (questions, waiting) = sync_channel(CAPACITY);
        let mark = CallMark::default();
        let worker = Self {
            questions,
            mark: mark.clone(),
        };
        let name = match lane {
            Lane::Library => "nvml".to_owned(),
            Lane::Pairs => "nvml-pairs".to_owned(),
            Lane::Gpu(index) => format!("nvml-gpu-{index}"),
        };
        run(&name, move || work(mark, &waiting, &access, &outbox));
        worker
    }
}

/// Answers questions until nobody can ask any more.
fn work(mark: CallMark, waiting: &Receiver<(u64, Question)>, access: &Access, outbox: &Outbox) {
    mark_calls(mark);
    for (id, question) in waiting {
        outbox.send(FromChild::Answer(id, access.answer(question)));
    }
}
