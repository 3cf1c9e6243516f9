//! The gpulet.v1 interface: read-only, for `gpuctl`, on a Unix socket.

mod events;
mod gpus;
mod node;
mod pods;

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_core::Time;
use agent_host::Capacity;
use agent_loops::{Agent, PodBoard, ProblemBoard, Problems, RuntimeWatch, Telling};
use base_daemon::{Chain, DrainGuard, Readiness};
use gpu_keeper::{GpuSnapshot, Keeper};
use proto::gpulet::node_server::{Node, NodeServer};
use proto::gpulet::{
    GetNodeRequest, ListGpusRequest, ListGpusResponse, ListPodsRequest, ListPodsResponse, NodeInfo,
    WatchEventsRequest,
};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// What does not change while the agent runs.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) node: String,
    pub(crate) started_at: Time,
    pub(crate) endpoint: String,
    pub(crate) capacity: Capacity,
}

/// Renders answers from what the owners publish. It keeps nothing.
#[derive(Debug)]
pub(crate) struct NodeApi {
    place: Place,
    telling: Telling,
    readiness: Readiness,
    pods: watch::Receiver<Arc<PodBoard>>,
    runtime: watch::Receiver<RuntimeWatch>,
    problems: watch::Receiver<Arc<Problems>>,
    gpus: watch::Receiver<Arc<GpuSnapshot>>,
}

impl NodeApi {
    pub(crate) fn new(
        place: Place,
        agent: &Agent,
        telling: &Telling,
        keeper: &Keeper,
        readiness: &Readiness,
    ) -> Self {
        Self {
            place,
            telling: telling.clone(),
            readiness: readiness.clone(),
            pods: agent.pods.clone(),
            runtime: agent.runtime.clone(),
            problems: ProblemBoard::subscribe(&telling.problems),
            gpus: keeper.snapshots(),
        }
    }

    /// Serves until the drain. Streams that follow events end with it.
    pub(crate) async fn serve(self, listener: UnixListener, guard: DrainGuard) {
        let server = Server::builder().add_service(NodeServer::new(self));
        let serving = server.serve_with_incoming(UnixListenerStream::new(listener));
        // Cancelled by the drain: every answer is small, and a client asks again.
        tokio::select! {
            outcome = serving => if let Err(error) = outcome {
                tracing::error!("gpuctl cannot ask any more: {}", Chain(&error));
            },
            () = guard.ending() => {}
        }
    }
}

#[tonic::async_trait]
impl Node for NodeApi {
    type WatchEventsStream = events::Events;

    async fn get_node(
        &self,
        _request: Request<GetNodeRequest>,
    ) -> Result<Response<NodeInfo>, Status> {
        Ok(Response::new(node::message(self)))
    }

    async fn list_gpus(
        &self,
        _request: Request<ListGpusRequest>,
    ) -> Result<Response<ListGpusResponse>, Status> {
        let (snapshot, pods) = (self.gpus.borrow().clone(), self.pods.borrow().clone());
        Ok(Response::new(gpus::message(&snapshot, &pods)))
    }

    async fn list_pods(
        &self,
        _request: Request<ListPodsRequest>,
    ) -> Result<Response<ListPodsResponse>, Status> {
        let board = self.pods.borrow().clone();
        // By name, since that is how people look for them.
        let pods: BTreeMap<_, _> = board
            .values()
            .map(|pod| ((&pod.name, &pod.uid), pods::message(pod)))
            .collect();
        Ok(Response::new(ListPodsResponse {
            pods: pods.into_values().collect(),
        }))
    }

    async fn watch_events(
        &self,
        request: Request<WatchEventsRequest>,
    ) -> Result<Response<Self::WatchEventsStream>, Status> {
        Ok(Response::new(events::watch(
            &self.telling.events,
            request.into_inner().follow,
        )))
    }
}
