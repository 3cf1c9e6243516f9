//! StopContainer: asks a container to end, kills it after the grace period.

use std::time::Duration;

use agent_core::{ContainerId, Fail};
use proto::cri::StopContainerRequest;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "StopContainer",
    reason: "KillContainerError",
};

/// Returns when it has stopped; whole seconds count, a part of one is rounded up.
pub(crate) async fn stop_container(
    connection: &Connection,
    id: &ContainerId,
    grace: Duration,
) -> Result<(), Fail> {
    let seconds = super::whole_seconds(grace);
    let message = StopContainerRequest {
        container_id: id.to_string(),
        timeout: seconds,
    };
    let request = connection.request_with(message, grace);
    connection
        .answer(VERB, connection.runtime().stop_container(request))
        .await?;
    Ok(())
}
