//! The newest Node object that this process has seen, whoever brought it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use tokio::sync::watch;

/// Holds the own Node object for everybody. Clones are the same book.
#[derive(Clone, Debug)]
pub(crate) struct NodeBook {
    newest: Arc<watch::Sender<Option<Arc<Node>>>>,
}

impl NodeBook {
    pub(crate) fn new() -> Self {
        Self {
            newest: Arc::new(watch::Sender::new(None)),
        }
    }

    /// The object whenever it changes; `None` while there is none.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Arc<Node>>> {
        self.newest.subscribe()
    }

    pub(crate) fn node(&self) -> Option<Arc<Node>> {
        self.newest.borrow().clone()
    }

    /// Takes an object in, unless a newer one is there: answers to writes and the watch come on
    /// different ways, and an older object must not bring an old status back.
    pub(crate) fn offer(&self, node: Node) {
        self.newest.send_if_modified(|newest| {
            let newer = newest.as_ref().is_none_or(|old| is_newer(old, &node));
            if newer {
                *newest = Some(Arc::new(node));
            }
            newer
        });
    }

    /// The object is not there any more.
    pub(crate) fn clear(&self) {
        self.newest
            .send_if_modified(|newest| newest.take().is_some());
    }
}

/// Kubernetes 1.35 and later: resource versions of one resource are numbers that rise. What is no
/// number counts as newer, since it came later. Another UID is another object.
fn is_newer(old: &Node, new: &Node) -> bool {
    let version = |node: &Node| node.metadata.resource_version.as_ref()?.parse::<u64>().ok();
    if old.metadata.uid != new.metadata.uid {
        return true;
    }
    match (version(old), version(new)) {
        (Some(old), Some(new)) => new > old,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
