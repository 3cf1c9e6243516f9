//! RunPodSandbox: namespaces, cgroup parent and network of one pod.

use agent_core::{Fail, SandboxId};
use proto::cri::{PodSandboxConfig, RunPodSandboxRequest};

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "RunPodSandbox",
    reason: "CreatePodSandboxError",
};

pub(crate) async fn run_pod_sandbox(
    connection: &Connection,
    config: PodSandboxConfig,
    runtime_handler: String,
) -> Result<SandboxId, Fail> {
    let message = RunPodSandboxRequest {
        config: Some(config),
        runtime_handler,
    };
    let request = connection.request(message);
    let response = connection
        .answer(VERB, connection.runtime().run_pod_sandbox(request))
        .await?;
    Ok(SandboxId::new(response.pod_sandbox_id))
}
