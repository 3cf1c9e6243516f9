//! Version: who the runtime is.

use agent_core::Fail;
use proto::cri::{VersionRequest, VersionResponse};

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "Version",
    reason: "RuntimeUnavailable",
};

pub(crate) async fn version(connection: &Connection) -> Result<VersionResponse, Fail> {
    let request = connection.request(VersionRequest::default());
    connection
        .answer(VERB, connection.runtime().version(request))
        .await
}
