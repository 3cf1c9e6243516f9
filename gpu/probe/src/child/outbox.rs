//! What the child says, written by one thread.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use super::{complain, die, run};
use crate::wire::{self, FromChild};

/// Messages that wait for the parent. It reads at once, so this holds what comes while it is not
/// scheduled: a burst of events of all GPUs.
const CAPACITY: usize = 256;

/// Takes messages for the parent, from any thread.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    queue: SyncSender<FromChild>,
    /// An event did not fit.
    missed: Arc<AtomicBool>,
}

impl Outbox {
    /// Starts the thread that writes.
    pub(super) fn start(socket: UnixStream) -> io::Result<Self> {
        let (queue, messages) = sync_channel(CAPACITY);
        let missed = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&missed);
        run("nvml-writer", move || write_all(socket, &messages, &flag));
        Ok(Self { queue, missed })
    }

    /// Sends an answer. Waits while the parent reads nothing.
    pub(super) fn send(&self, message: FromChild) {
        if self.queue.send(message).is_err() {
            die();
        }
    }

    /// Sends an event. When there is no room it is lost, and the parent is told that some are.
    pub(super) fn send_event(&self, event: FromChild) {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(event) {
            self.missed.store(true, Ordering::Release);
        }
    }
}

fn write_all(mut socket: UnixStream, messages: &Receiver<FromChild>, missed: &AtomicBool) {
    let mut write = |message: &FromChild| match wire::write(&mut socket, message) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            complain(&format!("a message is left out: {error}"));
        }
        Err(_) => die(),
        Ok(()) => {}
    };
    for message in messages {
        write(&message);
        if missed.swap(false, Ordering::AcqRel) {
            write(&FromChild::Missed);
        }
    }
}

#[cfg(test)]
mod tests;
