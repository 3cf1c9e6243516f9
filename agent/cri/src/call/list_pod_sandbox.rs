//! ListPodSandbox: all sandboxes, or those of one pod.

use agent_core::{Fail, PodUid};
use proto::cri::{ListPodSandboxRequest, PodSandbox, PodSandboxFilter};

use crate::connection::Connection;
use crate::fail::Verb;
use crate::labels;

const VERB: Verb = Verb {
    name: "ListPodSandbox",
    reason: "ListPodSandboxError",
};

pub(crate) async fn list_pod_sandbox(
    connection: &Connection,
    pod: Option<&PodUid>,
) -> Result<Vec<PodSandbox>, Fail> {
    let label_selector = pod.map(labels::selector).unwrap_or_default();
    let filter = PodSandboxFilter {
        label_selector,
        ..Default::default()
    };
    let request = connection.request(ListPodSandboxRequest {
        filter: Some(filter),
    });
    let response = connection
        .answer(VERB, connection.runtime().list_pod_sandbox(request))
        .await?;
    Ok(response.items)
}
