//! An agent that tells of the made-up node.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use proto::gpulet::node_server::{Node, NodeServer};
use proto::gpulet::{
    Event, GetNodeRequest, ListGpusRequest, ListGpusResponse, ListPodsRequest, ListPodsResponse,
    NodeInfo, WatchEventsRequest,
};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tonic::{Request, Response, Status};

use crate::fixtures;
use crate::program::{Ran, finish, gpuctl};

/// Events that a test may send before somebody reads: more than any test sends.
const EVENTS: usize = 16;

/// A running agent; it ends with the test's runtime.
pub(crate) struct FakeAgent {
    folder: TempDir,
    watchers: Watchers,
}

type Watchers = Arc<Mutex<Vec<mpsc::Sender<Result<Event, Status>>>>>;

struct Service {
    watchers: Watchers,
    /// It tells nothing at all.
    mute: bool,
}

impl FakeAgent {
    pub(crate) fn start() -> Self {
        Self::with(false)
    }

    /// One that takes requests and never answers.
    pub(crate) fn mute() -> Self {
        Self::with(true)
    }

    fn with(mute: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let watchers = Watchers::default();
        let listener = UnixListener::bind(folder.path().join("gpulet.sock")).unwrap();
        let service = Service {
            watchers: Arc::clone(&watchers),
            mute,
        };
        let server = tonic::transport::Server::builder()
            .add_service(NodeServer::new(service))
            .serve_with_incoming(UnixListenerStream::new(listener));
        drop(base_daemon::spawn("fake-agent", async {
            server.await.unwrap()
        }));
        Self { folder, watchers }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("gpulet.sock")
    }

    pub(crate) fn gpuctl(&self) -> Command {
        gpuctl(&self.socket())
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.gpuctl().args(arguments)).await
    }

    /// Sends one more event to everybody who follows.
    pub(crate) async fn tell(&self, event: Event) {
        let watchers = self.watchers.lock().unwrap().clone();
        for watcher in watchers {
            watcher.send(Ok(event.clone())).await.unwrap();
        }
    }

    /// Ends the streams of those who follow.
    pub(crate) fn hang_up(&self) {
        self.watchers.lock().unwrap().clear();
    }
}

impl Service {
    async fn answer<T>(&self, message: T) -> Result<Response<T>, Status> {
        if self.mute {
            std::future::pending::<()>().await;
        }
        Ok(Response::new(message))
    }
}

#[tonic::async_trait]
impl Node for Service {
    type WatchEventsStream = ReceiverStream<Result<Event, Status>>;

    async fn get_node(&self, _: Request<GetNodeRequest>) -> Result<Response<NodeInfo>, Status> {
        self.answer(fixtures::node()).await
    }

    async fn list_gpus(
        &self,
        _: Request<ListGpusRequest>,
    ) -> Result<Response<ListGpusResponse>, Status> {
        self.answer(fixtures::gpus()).await
    }

    async fn list_pods(
        &self,
        _: Request<ListPodsRequest>,
    ) -> Result<Response<ListPodsResponse>, Status> {
        self.answer(fixtures::pods()).await
    }

    async fn watch_events(
        &self,
        request: Request<WatchEventsRequest>,
    ) -> Result<Response<Self::WatchEventsStream>, Status> {
        let (sender, events) = mpsc::channel(EVENTS);
        for event in fixtures::events() {
            sender.try_send(Ok(event)).unwrap();
        }
        if request.get_ref().follow {
            self.watchers.lock().unwrap().push(sender);
        }
        self.answer(ReceiverStream::new(events)).await
    }
}
