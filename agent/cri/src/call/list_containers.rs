//! ListContainers: all containers, or those of one pod.

use agent_core::{Fail, PodUid};
use proto::cri::{Container, ContainerFilter, ListContainersRequest};

use crate::connection::Connection;
use crate::fail::Verb;
use crate::labels;

const VERB: Verb = Verb {
    name: "ListContainers",
    reason: "ListContainersError",
};

pub(crate) async fn list_containers(
    connection: &Connection,
    pod: Option<&PodUid>,
) -> Result<Vec<Container>, Fail> {
    let label_selector = pod.map(labels::selector).unwrap_or_default();
    let filter = ContainerFilter {
        label_selector,
        ..Default::default()
    };
    let request = connection.request(ListContainersRequest {
        filter: Some(filter),
    });
    let response = connection
        .answer(VERB, connection.runtime().list_containers(request))
        .await?;
    Ok(response.containers)
}
