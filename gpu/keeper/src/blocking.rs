//! File work off the owner task's thread: a disk may be slow, a driver root may be remote.

/// Does the work on a thread that may block. `Err` in words if it panicked.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| error.to_string())
}
