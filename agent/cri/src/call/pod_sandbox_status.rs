//! PodSandboxStatus: one sandbox with its network.

use agent_core::Fail;
use proto::cri::{PodSandboxStatus, PodSandboxStatusRequest};

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "PodSandboxStatus",
    reason: "PodSandboxStatusError",
};

/// `FailKind::Gone` when there is no such sandbox.
pub(crate) async fn pod_sandbox_status(
    connection: &Connection,
    id: &str,
) -> Result<PodSandboxStatus, Fail> {
    let message = PodSandboxStatusRequest {
        pod_sandbox_id: id.to_owned(),
        verbose: false,
    };
    let request = connection.request(message);
    let response = connection
        .answer(VERB, connection.runtime().pod_sandbox_status(request))
        .await?;
    response
        .status
        .ok_or_else(|| Fail::gone(VERB.reason, format!("no status of sandbox {id}")))
}
