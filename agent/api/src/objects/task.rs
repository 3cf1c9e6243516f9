//! A task that ends with its owner.

use std::future::Future;

use base_daemon::Panicked;
use tokio::task::JoinHandle;

/// A running task; dropping this ends it.
#[derive(Debug)]
pub(super) struct Task(JoinHandle<Result<(), Panicked>>);

impl Task {
    /// Starts it.
    pub(super) fn start<F>(name: &'static str, future: F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(base_daemon::spawn(name, future))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
