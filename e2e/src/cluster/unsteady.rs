//! An API server that is in trouble, for the node alone: a proxy before the real one that is slow, refuses with statuses
//! of its own and breaks off answers, watches among them.
//!
//! The node is told the proxy's address in its kubeconfig. The proxy speaks TLS with the API server's own certificate and
//! asks upstream with the node's, so that authorization and admission see the node.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::Cluster;
use super::connect;
use super::identity::{SERVER, User};
use crate::netns::Netns;
use crate::proxy::Cut;

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// Beside the API server's port, on the address that its certificate names.
const ADDRESS: &str = "10.77.0.1:7443";

/// What happens to requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// Each is answered with this status and reaches nobody.
    Refuse(u16),
    /// Each waits for this time, and of the same request (by method and path) the first is answered with 429, the second
    /// with 500, and the third goes through, and so on.
    Stumble(Duration),
}

/// The proxy. It ends when dropped.
pub struct Unsteady {
    shared: Arc<Shared>,
    netns: Netns,
    tls: TlsAcceptor,
    /// The one task that accepts; its connections end with it. Empty while nobody listens.
    accepting: JoinSet<()>,
}

struct Shared {
    upstream: Client,
    state: Mutex<State>,
    /// A change of the value ends every open answer.
    cuts: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    trouble: Trouble,
    /// How often each request was made in the present trouble.
    asked: BTreeMap<String, u32>,
    /// Answers that were made here instead of upstream, by status.
    refused: BTreeMap<u16, u32>,
}

impl Unsteady {
    /// Starts the proxy, without trouble, and tells the agent, which must not run yet, its address.
    pub async fn start(cluster: &mut Cluster) -> Result<Unsteady> {
        let plane = &cluster.plane;
        let kubeconfig = plane.kubeconfig(User::Node);
        let netns = &cluster.node.containerd.how().netns;
        let shared = Arc::new(Shared {
            upstream: connect::client(netns, &kubeconfig).await?,
            state: Mutex::new(State::new(Trouble::None)),
            cuts: watch::channel(0).0,
        });
        let chain = CertificateDer::pem_file_iter(plane.certificate("apiserver.crt"))?;
        let key = PrivateKeyDer::from_pem_file(plane.certificate("apiserver.key"))?;
        let server = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain.collect::<Result<_, _>>()?, key)?;
        let proxied = kubeconfig.with_file_name("unsteady.conf");
        let text = fs::read_to_string(&kubeconfig)?;
        fs::write(
            &proxied,
            text.replace(SERVER, &format!("https://{ADDRESS}")),
        )?;
        let arguments = &mut cluster.node.agent.arguments;
        let place = arguments
            .iter_mut()
            .find(|argument| argument.starts_with("--kubeconfig="))
            .context("the agent has no kubeconfig")?;
        *place = format!("--kubeconfig={}", proxied.display());
        let mut unsteady = Unsteady {
            shared,
            netns: netns.clone(),
            tls: TlsAcceptor::from(Arc::new(server)),
            accepting: JoinSet::new(),
        };
        unsteady.open()?;
        Ok(unsteady)
    }

    /// Goes away: breaks off all connections and takes no more.
    pub async fn close(&mut self) {
        self.accepting.shutdown().await;
    }

    /// Is there again.
    pub fn open(&mut self) -> Result<()> {
        let listener = self.netns.listen(ADDRESS.parse()?)?;
        let accepting = accept(listener, self.tls.clone(), self.shared.clone());
        self.accepting.spawn(accepting);
        Ok(())
    }

    /// What happens to requests from now on.
    pub fn set(&self, trouble: Trouble) {
        *self.shared.state() = State::new(trouble);
    }

    /// Breaks off all open answers: every watch.
    pub fn cut(&self) {
        self.shared.cuts.send_modify(|count| *count += 1);
    }

    /// How often it answered with this status itself since the trouble was set.
    pub fn refused(&self, status: u16) -> u32 {
        let state = self.shared.state();
        state.refused.get(&status).copied().unwrap_or_default()
    }
}

impl State {
    fn new(trouble: Trouble) -> State {
        State {
            trouble,
            asked: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// How long the request waits, and the status that it is refused with.
    fn judge(&mut self, request: &str) -> (Duration, Option<u16>) {
        let (wait, status) = match self.trouble {
            Trouble::None => (Duration::ZERO, None),
            Trouble::Refuse(status) => (Duration::ZERO, Some(status)),
            Trouble::Stumble(wait) => {
                let count = self.asked.entry(request.to_owned()).or_default();
                *count += 1;
                let status = match *count % 3 {
                    1 => Some(429),
                    2 => Some(500),
                    _ => None,
                };
                (wait, status)
            }
        };
        if let Some(status) = status {
            *self.refused.entry(status).or_default() += 1;
        }
        (wait, status)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Unsteady {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Unsteady")
            .field("state", &self.shared.state)
            .finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, tls.clone(), shared.clone()));
        while connections.try_join_next().is_some() {}
    }
}

/// One connection. No HTTP/2 is offered: an answer that is cut is then a connection that breaks.
async fn serve(stream: TcpStream, tls: TlsAcceptor, shared: Arc<Shared>) -> Result<()> {
    stream.set_nodelay(true)?;
    let stream = tls.accept(stream).await?;
    let service = service_fn(|request| forward(request, shared.clone()));
    hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await?;
    Ok(())
}

async fn forward(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Body>> {
    let watches = request
        .uri()
        .query()
        .is_some_and(|query| query.contains("watch="));
    let name = format!("{} {} {watches}", request.method(), request.uri().path());
    let (wait, status) = shared.state().judge(&name);
    tokio::time::sleep(wait).await;
    if let Some(status) = status {
        return refusal(status);
    }
    let cuts = shared.cuts.subscribe();
    let (mut parts, body) = request.into_parts();
    // It names the proxy; the client to upstream writes its own.
    parts.headers.remove(http::header::HOST);
    let body = kube::client::Body::from(body.collect().await?.to_bytes().to_vec());
    let answer = shared
        .upstream
        .send(Request::from_parts(parts, body))
        .await?;
    Ok(answer.map(|body| Cut::new(body, cuts).boxed_unsync()))
}

/// An answer as the API server makes one: with a Status, and for 429 with the time to wait.
fn refusal(code: u16) -> Result<Response<Body>> {
    let status = json!({
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "reason": if code == 429 { "TooManyRequests" } else { "InternalError" },
        "message": "refused by the test's proxy",
        "code": code,
    });
    let body = Full::new(Bytes::from(status.to_string()));
    let mut answer = Response::builder()
        .status(StatusCode::from_u16(code)?)
        .header("Content-Type", "application/json");
    if code == 429 {
        answer = answer.header("Retry-After", "1");
    }
    Ok(answer.body(body.map_err(|never| match never {}).boxed_unsync())?)
}
