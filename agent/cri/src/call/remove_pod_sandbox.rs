//! RemovePodSandbox: the sandbox and its dead containers; repeatable.

use agent_core::{Fail, SandboxId};
use proto::cri::RemovePodSandboxRequest;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "RemovePodSandbox",
    reason: "RemovePodSandboxError",
};

pub(crate) async fn remove_pod_sandbox(
    connection: &Connection,
    id: &SandboxId,
) -> Result<(), Fail> {
    let request = connection.request(RemovePodSandboxRequest {
        pod_sandbox_id: id.to_string(),
    });
    connection
        .answer(VERB, connection.runtime().remove_pod_sandbox(request))
        .await?;
    Ok(())
}
