//! A gRPC health server inside a node's network namespace, with an answer that the test sets.

use anyhow::Result;
use e2e::Netns;
use proto::grpc_health::health_check_response::ServingStatus;
use proto::grpc_health::health_server::{Health, HealthServer};
use proto::grpc_health::{HealthCheckRequest, HealthCheckResponse};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// A server that ends when dropped.
pub(super) struct Server {
    status: watch::Sender<ServingStatus>,
    _task: JoinSet<Result<(), tonic::transport::Error>>,
}

struct Answers(watch::Receiver<ServingStatus>);

impl Server {
    /// Listens on every address of the namespace and says that it serves.
    pub(super) fn start(netns: &Netns, port: u16) -> Result<Server> {
        let listener = netns.listen(([0, 0, 0, 0], port).into())?;
        let (status, receiver) = watch::channel(ServingStatus::Serving);
        let service = HealthServer::new(Answers(receiver));
        let server = tonic::transport::Server::builder().add_service(service);
        let mut task = JoinSet::new();
        task.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        Ok(Server {
            status,
            _task: task,
        })
    }

    pub(super) fn set(&self, status: ServingStatus) {
        self.status.send_replace(status);
    }
}

#[tonic::async_trait]
impl Health for Answers {
    async fn check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let status = *self.0.borrow() as i32;
        Ok(Response::new(HealthCheckResponse { status }))
    }
}
