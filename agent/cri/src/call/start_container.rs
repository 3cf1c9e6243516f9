//! StartContainer: runs what was created.

use agent_core::{ContainerId, Fail};
use proto::cri::StartContainerRequest;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "StartContainer",
    reason: "RunContainerError",
};

pub(crate) async fn start_container(connection: &Connection, id: &ContainerId) -> Result<(), Fail> {
    let request = connection.request(StartContainerRequest {
        container_id: id.to_string(),
    });
    connection
        .answer(VERB, connection.runtime().start_container(request))
        .await?;
    Ok(())
}
