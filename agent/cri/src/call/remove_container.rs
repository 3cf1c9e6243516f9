//! RemoveContainer: a dead container; repeatable.

use agent_core::{ContainerId, Fail};
use proto::cri::RemoveContainerRequest;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "RemoveContainer",
    reason: "RemoveContainerError",
};

pub(crate) async fn remove_container(
    connection: &Connection,
    id: &ContainerId,
) -> Result<(), Fail> {
    let request = connection.request(RemoveContainerRequest {
        container_id: id.to_string(),
    });
    connection
        .answer(VERB, connection.runtime().remove_container(request))
        .await?;
    Ok(())
}
