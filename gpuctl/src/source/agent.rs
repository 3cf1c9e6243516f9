//! The agent, over its Unix socket.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proto::gpulet::node_client::NodeClient;
use proto::gpulet::{GetNodeRequest, ListGpusRequest, ListPodsRequest, WatchEventsRequest};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

use crate::record::{Event, Machine, Pod};

/// Everything is answered from memory, so an agent that takes longer than this hangs.
const DEADLINE: Duration = Duration::from_secs(5);

/// Longest answer that is taken: 16 GPUs and some hundred pods are well below it.
const MAX_MESSAGE: usize = 64 << 20;

/// A connection to the agent.
#[derive(Debug)]
pub(crate) struct Agent {
    socket: PathBuf,
    client: NodeClient<Channel>,
}

/// Events as they come.
#[derive(Debug)]
pub(crate) struct Events {
    socket: PathBuf,
    stream: Streaming<proto::gpulet::Event>,
}

/// Why the agent does not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    #[error("no agent at {0}")]
    NoSocket(PathBuf),
    #[error("nobody listens at {0}")]
    Refused(PathBuf),
    #[error("no permission for the agent at {0}")]
    Denied(PathBuf),
    #[error("the agent at {0} does not answer in time")]
    Slow(PathBuf),
    #[error("the agent at {socket} cannot be asked: {reason}")]
    Other { socket: PathBuf, reason: String },
}

impl AgentError {
    /// What to do about it.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NoSocket(_) => "start gpulet, or name its socket with --socket",
            Self::Refused(_) => "start gpulet again, or name its socket with --socket",
            Self::Denied(_) => "use sudo, or join the group of the socket",
            Self::Slow(_) | Self::Other { .. } => "see gpulet's log",
        }
    }
}

impl Agent {
    pub(super) async fn connect(socket: &Path) -> Result<Self, AgentError> {
        let other = |error: tonic::transport::Error| cannot_connect(socket, &error);
        let endpoint =
            Endpoint::from_shared(format!("unix:{}", socket.display())).map_err(other)?;
        let channel = endpoint
            .connect_timeout(DEADLINE)
            .connect()
            .await
            .map_err(other)?;
        let client = NodeClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
        Ok(Self {
            socket: socket.to_owned(),
            client,
        })
    }

    /// Node and GPUs.
    pub(crate) async fn machine(&self) -> Result<Machine, AgentError> {
        let mut client = self.client.clone();
        let node = client.get_node(request(GetNodeRequest {})).await;
        let node = node
            .map_err(|status| failed(&self.socket, &status))?
            .into_inner();
        let gpus = client.list_gpus(request(ListGpusRequest {})).await;
        let gpus = gpus
            .map_err(|status| failed(&self.socket, &status))?
            .into_inner();
        Ok(Machine::from((node, gpus)))
    }

    /// Pods by name.
    pub(crate) async fn pods(&self) -> Result<Vec<Pod>, AgentError> {
        let pods = self
            .client
            .clone()
            .list_pods(request(ListPodsRequest {}))
            .await;
        let pods = pods
            .map_err(|status| failed(&self.socket, &status))?
            .into_inner();
        let mut pods: Vec<Pod> = pods.pods.into_iter().map(Pod::from).collect();
        pods.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok(pods)
    }

    /// What happened, and with `follow` what happens from then on.
    pub(crate) async fn events(&self, follow: bool) -> Result<Events, AgentError> {
        let wish = WatchEventsRequest { follow };
        // No deadline on a stream that goes on for ever.
        let wish = if follow {
            Request::new(wish)
        } else {
            request(wish)
        };
        let stream = self.client.clone().watch_events(wish).await;
        let stream = stream
            .map_err(|status| failed(&self.socket, &status))?
            .into_inner();
        Ok(Events {
            socket: self.socket.clone(),
            stream,
        })
    }
}

impl Events {
    /// The next one; `None` at the end of what there was.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, AgentError> {
        let event = self.stream.message().await;
        Ok(event
            .map_err(|status| failed(&self.socket, &status))?
            .map(Event::from))
    }

    /// The error of a stream that should have gone on.
    pub(crate) fn ended(self) -> AgentError {
        AgentError::Other {
            socket: self.socket,
            reason: "it has ended".to_owned(),
        }
    }

    /// All of them, of a stream that does not follow.
    pub(crate) async fn all(mut self) -> Result<Vec<Event>, AgentError> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await? {
            events.push(event);
        }
        Ok(events)
    }
}

fn request<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(DEADLINE);
    request
}

fn cannot_connect(socket: &Path, error: &tonic::transport::Error) -> AgentError {
    let socket = socket.to_owned();
    match io_cause(error) {
        Some(io::ErrorKind::NotFound) => AgentError::NoSocket(socket),
        Some(io::ErrorKind::ConnectionRefused) => AgentError::Refused(socket),
        Some(io::ErrorKind::PermissionDenied) => AgentError::Denied(socket),
        Some(io::ErrorKind::TimedOut) => AgentError::Slow(socket),
        _ => AgentError::Other {
            socket,
            reason: innermost(error),
        },
    }
}

fn failed(socket: &Path, status: &Status) -> AgentError {
    let socket = socket.to_owned();
    match status.code() {
        Code::DeadlineExceeded | Code::Cancelled => AgentError::Slow(socket),
        Code::Unimplemented => AgentError::Other {
            socket,
            reason: "it does not speak gpulet.v1; is it gpulet, and not older than this gpuctl?"
                .to_owned(),
        },
        // The connection broke: the text of the transport says less than this.
        Code::Unavailable | Code::Unknown if status.source().is_some() => AgentError::Other {
            socket,
            reason: format!("it ended or closed the connection ({})", innermost(status)),
        },
        _ => AgentError::Other {
            socket,
            reason: status.message().to_owned(),
        },
    }
}

fn io_cause(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        next = error.source();
    }
    None
}

/// The first cause: what is wrapped around it says no more than that something failed.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
