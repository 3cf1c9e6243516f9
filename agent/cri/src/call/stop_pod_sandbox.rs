//! StopPodSandbox: network down, pause process gone; repeatable.

use agent_core::{Fail, SandboxId};
use proto::cri::StopPodSandboxRequest;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "StopPodSandbox",
    reason: "KillPodSandboxError",
};

pub(crate) async fn stop_pod_sandbox(connection: &Connection, id: &SandboxId) -> Result<(), Fail> {
    let request = connection.request(StopPodSandboxRequest {
        pod_sandbox_id: id.to_string(),
    });
    connection
        .answer(VERB, connection.runtime().stop_pod_sandbox(request))
        .await?;
    Ok(())
}
