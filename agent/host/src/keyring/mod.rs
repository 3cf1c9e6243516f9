//! Credentials for registries, and records of pulls.

use agent_core::{Fail, ImageName};
use agent_loops::ports::{Keyring, PullCredential, References, WantedPod};
use async_trait::async_trait;

/// Credentials of this node and of its pods.
#[derive(Debug, Default)]
pub struct NodeKeyring {}

#[async_trait]
impl Keyring for NodeKeyring {
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
