//! CreateContainer: makes a container without starting it.

use agent_core::{ContainerId, Fail};
use proto::cri::CreateContainerRequest;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "CreateContainer",
    reason: "CreateContainerError",
};

pub(crate) async fn create_container(
    connection: &Connection,
    message: CreateContainerRequest,
) -> Result<ContainerId, Fail> {
    let request = connection.request(message);
    let response = connection
        .answer(VERB, connection.runtime().create_container(request))
        .await?;
    Ok(ContainerId::new(response.container_id))
}
