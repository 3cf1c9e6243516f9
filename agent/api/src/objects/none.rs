//! A node without an API server.

use std::sync::Arc;

use agent_core::{Fail, PodUid};
use agent_loops::ports::{ObjectChanges, Objects, References, WantedPod};
use async_trait::async_trait;
use tokio::sync::watch;

/// Nothing to refer to: manifests from files may not name API objects anyway.
#[derive(Debug, Default)]
pub struct NoObjects {
    changes: watch::Sender<ObjectChanges>,
}

#[async_trait]
impl Objects for NoObjects {
    async fn references(&self, _pod: &WantedPod) -> Result<Arc<References>, Fail> {
        Ok(Arc::default())
    }

    fn changes(&self) -> watch::Receiver<ObjectChanges> {
        self.changes.subscribe()
    }

    async fn forget(&self, _uid: &PodUid) {}
}
