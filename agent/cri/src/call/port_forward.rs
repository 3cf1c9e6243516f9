//! PortForward: where ports of a sandbox can be reached.

use agent_core::{Fail, SandboxId};
use proto::cri::PortForwardRequest;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "PortForward",
    reason: "PortForwardError",
};

/// Without `ports` the client names them inside the stream.
pub(crate) async fn port_forward(
    connection: &Connection,
    id: &SandboxId,
    ports: &[i32],
) -> Result<String, Fail> {
    let request = connection.request(PortForwardRequest {
        pod_sandbox_id: id.to_string(),
        port: ports.to_vec(),
    });
    let response = connection
        .answer(VERB, connection.runtime().port_forward(request))
        .await?;
    Ok(response.url)
}
