//! Tasks with names.

use std::future::Future;

use tokio::task::{JoinError, JoinHandle};
use tracing::Instrument;

/// A task ended by a panic. The panic message was printed by the panic hook.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("task {name} panicked; this is a fault in this program, please report it with the log")]
pub struct Panicked {
    /// Name of the task.
    pub name: &'static str,
}

/// Spawns a task under a name that its log lines carry. A panic in it is logged and ends only it.
#[expect(
    clippy::disallowed_methods,
    reason = "this is what everybody else uses instead"
)]
pub fn spawn<F>(name: &'static str, future: F) -> JoinHandle<Result<F::Output, Panicked>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let inner = tokio::spawn(future.instrument(tracing::info_span!("task", name)));
    let watched = AbortOnDrop(inner);
    tokio::spawn(async move {
        let mut watched = watched;
        match (&mut watched.0).await {
            Ok(output) => Ok(output),
            Err(error) => Err(judge(name, &error)),
        }
    })
}

/// Aborting the outer handle must abort the work, too.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn judge(name: &'static str, error: &JoinError) -> Panicked {
    if error.is_panic() {
        tracing::error!(task = name, "task panicked");
    }
    Panicked { name }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    #[tokio::test]
    async fn a_panic_ends_only_its_task() {
        let fine = spawn("fine", async { 7 });
        let bad = spawn("bad", async { panic!("on purpose") });
        assert_eq!(fine.await.unwrap(), Ok(7));
        assert_eq!(bad.await.unwrap(), Err::<(), _>(Panicked { name: "bad" }));
    }

    #[tokio::test]
    async fn aborting_the_handle_ends_the_work() {
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let task = spawn("waits", async move {
            let _held = sender;
            std::future::pending::<()>().await;
        });
        task.abort();
        assert!(
            receiver.await.is_err(),
            "the sender must be dropped with the work"
        );
    }
}
