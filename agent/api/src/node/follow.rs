//! Follows the own Node object.

use std::pin::pin;
use std::time::Duration;

use base_daemon::{Backoff, Chain};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::{self, watch_object};
use kube::{Api, Client};

use super::book::NodeBook;

/// First and longest delay after the watch broke.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Keeps the book up to date for ever.
pub(crate) async fn follow(client: Client, name: String, book: NodeBook) {
    let mut backoff = Backoff::new(AGAIN.0, AGAIN.1);
    let mut stream = pin!(watch_object::<Node>(Api::all(client), &name));
    // The stream tries again by itself, at once if it is polled at once.
    while let Some(item) = stream.next().await {
        match item {
            Ok(Some(node)) => {
                backoff.reset();
                book.offer(node);
            }
            Ok(None) => {
                backoff.reset();
                book.clear();
            }
            Err(error) => {
                tell(&error);
                tokio::time::sleep(backoff.step()).await;
            }
        }
    }
}

fn tell(error: &watcher::Error) {
    tracing::debug!(error = %Chain(error), "the watch of the own Node object broke; it begins anew");
}
