//! A mailbox that holds one merged letter: senders never wait, and nothing can pile up.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Both ends of the mailbox. The letter's type says how news are merged into it, and bounds it.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    shared: Arc<Shared<T>>,
}

#[derive(Debug)]
struct Shared<T> {
    // A plain lock: it is held for one merge or one swap, never over an await.
    letter: Mutex<Option<T>>,
    filled: Notify,
}

impl<T> Clone for Mailbox<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T: Default> Mailbox<T> {
    /// An empty mailbox.
    pub(crate) fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                letter: Mutex::new(None),
                filled: Notify::new(),
            }),
        }
    }

    /// Merges news into the waiting letter.
    pub(crate) fn put(&self, merge: impl FnOnce(&mut T)) {
        let mut letter = self
            .shared
            .letter
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        merge(letter.get_or_insert_default());
        drop(letter);
        self.shared.filled.notify_one();
    }

    /// Waits for a letter and takes it. Cancel-safe: the letter leaves the box only in the last
    /// step, which does not wait. For one reader.
    pub(crate) async fn take(&self) -> T {
        loop {
            if let Some(letter) = self.try_take() {
                return letter;
            }
            self.shared.filled.notified().await;
        }
    }

    /// The letter, if there is one.
    pub(crate) fn try_take(&self) -> Option<T> {
        self.shared
            .letter
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

#[cfg(test)]
mod tests;
