//! Objects that manifests refer to, in memory.

use std::sync::Arc;

use agent_core::{Fail, ImageName, PodUid};
use agent_loops::ports::{Keyring, ObjectChanges, Objects, PullCredential, References, WantedPod};
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

/// A keyring without keys, for images that everybody may use.
#[derive(Debug)]
pub(crate) struct NoKeys;

#[async_trait]
impl Keyring for NoKeys {
    async fn credentials(
        &self,
        _image: &ImageName,
        _pod: &WantedPod,
        _references: &References,
    ) -> Result<Vec<PullCredential>, Fail> {
        Ok(Vec::new())
    }

    async fn may_use(&self, _: &ImageName, _: &str, _: &[PullCredential]) -> bool {
        true
    }

    async fn pulling(&self, _image: &ImageName) -> Result<(), Fail> {
        Ok(())
    }

    async fn pulled(&self, _: &ImageName, _: Option<(&str, Option<&PullCredential>)>) {}
}
