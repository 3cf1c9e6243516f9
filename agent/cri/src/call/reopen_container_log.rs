//! ReopenContainerLog: after the log file was renamed away.

use agent_core::{ContainerId, Fail};
use proto::cri::ReopenContainerLogRequest;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "ReopenContainerLog",
    reason: "ReopenContainerLogError",
};

pub(crate) async fn reopen_container_log(
    connection: &Connection,
    id: &ContainerId,
) -> Result<(), Fail> {
    let request = connection.request(ReopenContainerLogRequest {
        container_id: id.to_string(),
    });
    connection
        .answer(VERB, connection.runtime().reopen_container_log(request))
        .await?;
    Ok(())
}
