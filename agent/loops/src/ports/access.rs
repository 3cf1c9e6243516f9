//! Who may use the kubelet's server, as the API server says.

use std::fmt;

use agent_core::Fail;
use async_trait::async_trait;

/// Door to TokenReview and SubjectAccessReview. Answers are cached inside as configured.
#[async_trait]
pub trait Access: Send + Sync + fmt::Debug + 'static {
    /// Who a bearer token belongs to; `None`: it is not valid.
    async fn authenticate(&self, token: &str) -> Result<Option<Identity>, Fail>;
    /// Whether somebody may do something to this node.
    async fn authorize(&self, who: &Identity, what: &AccessAsk) -> Result<bool, Fail>;
}

/// Somebody who was authenticated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// User name.
    pub name: String,
    /// UID, may be empty.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Extra attributes.
    pub extra: Vec<(String, Vec<String>)>,
}

/// What is to be allowed, on the `nodes` resource of the core group and this node's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AccessAsk {
    /// `get`, `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// `proxy`, `stats`, `log`, `metrics`, `healthz`, `configz`, `pods` and so on.
    pub subresource: &'static str,
}
