//! Credentials for registries, and who may use which image, as the loops need it.

use std::fmt;

use agent_core::{Fail, ImageName};
use async_trait::async_trait;

use super::{References, WantedPod};

/// Door to credentials: pull secrets of the pod, credential providers and files of the node, and the
/// records of pulls.
#[async_trait]
pub trait Keyring: Send + Sync + fmt::Debug + 'static {
    /// What to try for an image, in order. Empty: only without credentials.
    async fn credentials(
        &self,
        image: &ImageName,
        pod: &WantedPod,
        references: &References,
    ) -> Result<Vec<PullCredential>, Fail>;
    /// Whether the pod may use an image that is on the node already, given its credentials. Without
    /// leave it has to be pulled again with them.
    async fn may_use(
        &self,
        image: &ImageName,
        reference: &str,
        credentials: &[PullCredential],
    ) -> bool;
    /// A pull is about to begin: durable before it does.
    async fn pulling(&self, image: &ImageName) -> Result<(), Fail>;
    /// A pull ended: with the reference and the credential that worked, or `None` when it failed.
    async fn pulled(&self, image: &ImageName, outcome: Option<(&str, Option<&PullCredential>)>);
}

/// One credential. Never shown by `Debug`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PullCredential {
    /// User name.
    pub username: String,
    /// Password.
    pub password: String,
    /// `auth` of a Docker configuration, when it has no user and password apart.
    pub auth: String,
    /// Registry that it is for.
    pub server: String,
    /// Identity token.
    pub identity_token: String,
    /// Registry token.
    pub registry_token: String,
    /// Where it is from, for the records of pulls.
    pub origin: CredentialOrigin,
}

/// Where a credential is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CredentialOrigin {
    /// A file of the node or a credential provider that serves the whole node.
    #[default]
    Node,
    /// A pull secret.
    Secret {
        /// UID.
        uid: String,
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// A credential provider that was asked in the name of a ServiceAccount.
    ServiceAccount {
        /// UID.
        uid: String,
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
}

impl fmt::Debug for PullCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PullCredential")
            .field("server", &self.server)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
