//! Objects that manifests refer to, in memory.

use std::sync::Arc;

use agent_core::{Fail, PodUid};
use agent_loops::ports::{ObjectChanges, Objects, References, WantedPod};
use async_trait::async_trait;
use tokio::sync::watch;

use crate::world::World;

/// The objects of the world: the same references for every pod.
#[derive(Debug)]
pub(crate) struct FakeObjects {
    pub(crate) world: World,
}

#[async_trait]
impl Objects for FakeObjects {
    async fn references(&self, _pod: &WantedPod) -> Result<Arc<References>, Fail> {
        Ok(self.world.read(|state| Arc::clone(&state.references)))
    }

    fn changes(&self) -> watch::Receiver<ObjectChanges> {
        self.world.object_changes.subscribe()
    }

    async fn forget(&self, uid: &PodUid) {
        self.world.object_changes.send_modify(|changes| {
            changes.pods.remove(uid);
        });
    }
}
