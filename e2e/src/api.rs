//! What the agent says about itself, over the same socket and interface as gpuctl.

use std::path::Path;

use anyhow::{Context, Result};
use proto::gpulet::node_client::NodeClient;
use proto::gpulet::{
    Event, GetNodeRequest, ListGpusRequest, ListGpusResponse, ListPodsRequest, NodeInfo, Pod,
    WatchEventsRequest,
};
use tonic::transport::{Channel, Endpoint};

use crate::pods::full_name;

/// A client of the agent's socket. It may outlive the agent and finds the next one.
#[derive(Debug, Clone)]
pub struct Api {
    node: NodeClient<Channel>,
}

impl Api {
    pub(crate) fn connect(socket: &Path) -> Result<Api> {
        let endpoint = Endpoint::try_from(format!("unix:{}", socket.display()))?;
        Ok(Api {
            node: NodeClient::new(endpoint.connect_lazy()),
        })
    }

    /// The node and what is wrong with it.
    pub async fn node(&self) -> Result<NodeInfo> {
        Ok(self
            .node
            .clone()
            .get_node(GetNodeRequest {})
            .await?
            .into_inner())
    }

    /// GPUs, driver and topology.
    pub async fn gpus(&self) -> Result<ListGpusResponse> {
        Ok(self
            .node
            .clone()
            .list_gpus(ListGpusRequest {})
            .await?
            .into_inner())
    }

    /// All pods.
    pub async fn pods(&self) -> Result<Vec<Pod>> {
        Ok(self
            .node
            .clone()
            .list_pods(ListPodsRequest {})
            .await?
            .into_inner()
            .pods)
    }

    /// The static pod from the manifest `name`.
    pub async fn pod(&self, name: &str) -> Result<Pod> {
        let name = full_name(name);
        let pod = self.pods().await?.into_iter().find(|pod| pod.name == name);
        pod.with_context(|| format!("the agent knows no pod {name}"))
    }

    /// Events so far, the oldest first.
    pub async fn events(&self) -> Result<Vec<Event>> {
        let request = WatchEventsRequest { follow: false };
        let mut stream = self.node.clone().watch_events(request).await?.into_inner();
        let mut events = Vec::new();
        while let Some(event) = stream.message().await? {
            events.push(event);
        }
        Ok(events)
    }
}
