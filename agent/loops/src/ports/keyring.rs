//! Credentials for registries, and who may use which image, as the loops need it.

use std::collections::BTreeMap;
use std::fmt;

use agent_core::{Fail, ImageName, Time};
use async_trait::async_trait;

use super::{ListedImage, References, Token, WantedPod};

/// Door to credentials: pull secrets of the pod, credential providers and files of the node, and the
/// records of pulls. An `image` is as the manifest writes it, a `reference` is the runtime's.
#[async_trait]
pub trait Keyring: Send + Sync + fmt::Debug + 'static {
    /// Names of the pod's pull secrets that are missing or cannot be read. The pull goes on without.
    fn missing(&self, pod: &WantedPod, references: &References) -> Vec<String>;
    /// What to try for an image, in order. Empty: only without credentials.
    async fn credentials(
        &self,
        image: &ImageName,
        pod: &WantedPod,
        references: &References,
    ) -> Result<Vec<PullCredential>, Fail>;
    /// Who may use an image that is on the node already.
    async fn leave(&self, image: &ImageName, reference: &str) -> Leave;
    /// Whether a pod with these credentials may use an image of `Leave::Holders`.
    async fn may_use(
        &self,
        image: &ImageName,
        reference: &str,
        credentials: &[PullCredential],
    ) -> bool;
    /// A pull is about to begin: durable before it does. `present` is the reference of the image that
    /// the node has under this name now: whatever becomes of the pull, who could use it still can.
    async fn pulling(&self, image: &ImageName, present: Option<&str>) -> Result<(), Fail>;
    /// The end of a pull that began, exactly once for each `pulling`.
    async fn pulled(&self, image: &ImageName, end: PullEnd);
    /// Whether an earlier process left pulls without an end: then `settle` is wanted once.
    fn leftovers(&self) -> bool;
    /// Judges the pulls that an earlier process left, by what the node has now.
    async fn settle(&self, images: &[ListedImage]);
    /// Forgets records older than `before` of images that the node does not have.
    async fn prune(&self, images: &[ListedImage], before: Time);
}

/// Who may use an image that is on the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Every pod.
    Everybody,
    /// Pods whose credentials are on record.
    Holders,
    /// Nobody before it was pulled again.
    Nobody,
}

/// How a pull ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullEnd {
    /// The image came.
    Pulled {
        /// Its reference.
        reference: String,
        /// What worked; `None`: it went without.
        credential: Option<Box<PullCredential>>,
    },
    /// It did not come.
    Failed,
    /// It was given up, and may have come all the same.
    Unknown,
}

/// One credential. Never shown by `Debug`.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
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
    /// SHA-256 of it in hex, for the records of pulls.
    pub hash: String,
}

/// Where a credential is from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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

/// Door to ServiceAccounts, for credential providers that act in their name.
#[async_trait]
pub trait ServiceAccounts: Send + Sync + fmt::Debug + 'static {
    /// One ServiceAccount.
    async fn account(&self, namespace: &str, name: &str) -> Result<ServiceAccount, Fail>;
    /// A token of it, bound to the pod, with the default life time.
    async fn token(
        &self,
        name: &str,
        account: &ServiceAccount,
        pod: &WantedPod,
        audience: &str,
    ) -> Result<Token, Fail>;
}

/// What a credential provider may be told of a ServiceAccount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceAccount {
    /// UID.
    pub uid: String,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

impl fmt::Debug for PullCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PullCredential")
            .field("server", &self.server)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
