//! A transparent gRPC proxy on a unix socket between the agent and containerd: it counts calls by method, and can
//! delay, hang or fail a method and cut streams that are open.
//!
//! It works on HTTP/2 requests and knows no message, so that what it lets through is what was sent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

mod cut;

pub(crate) use cut::Cut;

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// What happens to calls of one method.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// They reach containerd after this time.
    Delay(Duration),
    /// They never reach it and are never answered.
    Hang,
    /// They never reach it and are answered with this gRPC status code.
    Fail(tonic::Code),
}

/// Number of calls by method name, such as `RunPodSandbox`.
pub type Calls = BTreeMap<String, u64>;

/// A running proxy. It ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    socket: PathBuf,
    shared: Arc<Shared>,
    /// The one task that accepts; its connections end with it.
    _accepting: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    upstream: PathBuf,
    state: Mutex<State>,
    /// A change of the value ends every open answer.
    cuts: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    calls: Calls,
    faults: BTreeMap<String, Fault>,
}

impl Proxy {
    /// Listens on `socket` and forwards to the socket `upstream`. Must be called inside a tokio runtime.
    pub fn start(socket: PathBuf, upstream: PathBuf) -> Result<Proxy> {
        let listener = UnixListener::bind(&socket)
            .with_context(|| format!("listening on {}", socket.display()))?;
        let (cuts, _) = watch::channel(0);
        let shared = Arc::new(Shared {
            upstream,
            state: Mutex::default(),
            cuts,
        });
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, shared.clone()));
        Ok(Proxy {
            socket,
            shared,
            _accepting: accepting,
        })
    }

    /// The socket that the agent is given.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Calls so far, those included that a fault kept from containerd.
    pub fn calls(&self) -> Calls {
        self.shared.state().calls.clone()
    }

    /// Starts counting anew and gives what was counted.
    pub fn take_calls(&self) -> Calls {
        std::mem::take(&mut self.shared.state().calls)
    }

    /// Applies `fault` to calls of `method` that arrive from now on.
    pub fn set_fault(&self, method: &str, fault: Fault) {
        self.shared.state().faults.insert(method.to_owned(), fault);
    }

    /// Ends all faults for calls that arrive from now on, and lets hung ones fail.
    pub fn heal(&self) {
        self.shared.state().faults.clear();
        self.cut();
    }

    /// Resets every answer that is not complete, the event stream among them.
    pub fn cut(&self) {
        self.shared.cuts.send_modify(|count| *count += 1);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, shared.clone()));
        // Those that have ended are forgotten here: an agent has one or two at a time.
        while connections.try_join_next().is_some() {}
    }
}

/// One agent connection, with a connection to containerd of its own: when either ends, so does the other.
async fn serve(stream: UnixStream, shared: Arc<Shared>) -> Result<()> {
    let upstream = UnixStream::connect(&shared.upstream).await?;
    let executor = TokioExecutor::new();
    let (sender, upstream) =
        hyper::client::conn::http2::handshake(executor.clone(), TokioIo::new(upstream)).await?;
    let service = service_fn(|request| forward(request, sender.clone(), shared.clone()));
    let downstream = hyper::server::conn::http2::Builder::new(executor)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        ended = upstream => ended?,
        ended = downstream => ended?,
    }
    Ok(())
}

async fn forward(
    mut request: Request<Incoming>,
    mut upstream: SendRequest<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Body>> {
    let path = request.uri().path().to_owned();
    let method = path.rsplit('/').next().unwrap_or_default();
    let fault = {
        let mut state = shared.state();
        *state.calls.entry(method.to_owned()).or_default() += 1;
        state.faults.get(method).copied()
    };
    let mut cuts = shared.cuts.subscribe();
    match fault {
        Some(Fault::Fail(code)) => return refusal(code),
        Some(Fault::Hang) => {
            cuts.changed().await?;
            return refusal(tonic::Code::Unavailable);
        }
        Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
        None => {}
    }
    *request.uri_mut() = Uri::builder()
        .scheme("http")
        .authority("localhost")
        .path_and_query(path)
        .build()?;
    let answer = upstream.send_request(request).await?;
    Ok(answer.map(|body| Cut::new(body, cuts).boxed_unsync()))
}

/// An answer without a message, as gRPC carries an error.
fn refusal(code: tonic::Code) -> Result<Response<Body>> {
    let mut answer = Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    let headers = answer.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", HeaderValue::from(code as i32));
    headers.insert(
        "grpc-message",
        HeaderValue::from_static("refused by the test's proxy"),
    );
    Ok(answer)
}
