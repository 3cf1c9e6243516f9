//! Bounded, fair pod starts.
//!
//! A pod holds one slot from its sandbox until its first round of containers is started. Places in
//! the line are drawn when a pod is first seen, so starts follow the order of the source even when
//! preparations take different times; a pod that gave its slot back draws a new place, so one that
//! hangs again and again cannot push the others back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The slots of the node.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    // A plain lock: it is held for a few map operations, never over an await.
    line: Arc<Mutex<Line>>,
}

#[derive(Debug)]
struct Line {
    free: usize,
    next_place: u64,
    waiting: BTreeMap<Place, oneshot::Sender<Slot>>,
}

/// A place in the line. Lower is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(u64);

/// The right to start. Dropping it gives it to the next in line.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Slots,
    spent: bool,
}

impl Slots {
    /// `width` pods may start side by side, at least one.
    pub(crate) fn new(width: usize) -> Self {
        let line = Line {
            free: width.max(1),
            next_place: 0,
            waiting: BTreeMap::new(),
        };
        Self {
            line: Arc::new(Mutex::new(line)),
        }
    }

    /// The next place at the end of the line.
    pub(crate) fn draw(&self) -> Place {
        let mut line = self.lock();
        line.next_place += 1;
        Place(line.next_place)
    }

    /// Stands in line at `place`. The answer comes when it is this place's turn; dropping the
    /// receiver leaves the line.
    pub(crate) fn stand(&self, place: Place) -> oneshot::Receiver<Slot> {
        let (sender, receiver) = oneshot::channel();
        let mut line = self.lock();
        line.waiting.insert(place, sender);
        line.serve(self);
        receiver
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn serve(&mut self, slots: &Slots) {
        while self.free > 0 {
            let Some((_, sender)) = self.waiting.pop_first() else {
                return;
            };
            match sender.send(Slot {
                slots: slots.clone(),
                spent: false,
            }) {
                Ok(()) => self.free -= 1,
                // Nobody stands there any more. The slot was never counted as taken.
                Err(mut slot) => slot.spent = true,
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.spent {
            let mut line = self.slots.lock();
            line.free += 1;
            line.serve(&self.slots);
        }
    }
}

#[cfg(test)]
mod tests;
