//! ContainerStatus: one container with times and exit code.

use agent_core::Fail;
use proto::cri::{ContainerStatus, ContainerStatusRequest};

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "ContainerStatus",
    reason: "ContainerStatusError",
};

/// `FailKind::Gone` when there is no such container.
pub(crate) async fn container_status(
    connection: &Connection,
    id: &str,
) -> Result<ContainerStatus, Fail> {
    let message = ContainerStatusRequest {
        container_id: id.to_owned(),
        verbose: false,
    };
    let request = connection.request(message);
    let response = connection
        .answer(VERB, connection.runtime().container_status(request))
        .await?;
    response
        .status
        .ok_or_else(|| Fail::gone(VERB.reason, format!("no status of container {id}")))
}
