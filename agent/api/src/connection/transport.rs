//! Requests to one API server, over connections that are replaced when the certificate is.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response, Uri, header::AUTHORIZATION, header::USER_AGENT};
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::middleware::AuthLayer;
use kube::client::{Body, ConfigExt};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};

use super::error::ConnectionError;
use super::identity::Identity;
use super::kubeconfig::Endpoint;
use super::rate::{Rate, RateLayer};
use super::token_file::TokenFile;

/// Time for TCP, proxy and TLS together.
const CONNECT: Duration = Duration::from_secs(30);
/// Quiet time after which the kernel asks whether the other side is still there, and time between the
/// questions; three without an answer end the connection. The same is the limit for sent data that is
/// not acknowledged. The stock kubelet pings its HTTP/2 connections after 30 s.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_TRIES: u32 = 3;
const UNACKNOWLEDGED: Duration = Duration::from_secs(45);
/// Longest time without a byte on a connection that is waited on, for what the kernel cannot see: a
/// balancer that keeps a connection open whose server is gone. An idle watch carries a bookmark about
/// every minute, and the API server ends other requests after one minute.
const SILENCE: Duration = Duration::from_secs(150);
/// An unused connection is kept that long.
const IDLE: Duration = Duration::from_secs(90);
/// Quiet time after which an HTTP/2 connection with open requests is asked whether it is still there,
/// and time for the answer. Kubernetes 1.37: the same.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(15));

/// Everything below the layers: finds or opens a connection.
type Wire = BoxCloneSyncService<Request<Body>, Response<Incoming>, BoxError>;

/// Calls share one HTTP/2 connection where the server speaks it, so that a burst of them does not
/// begin with as many handshakes. A watch has a connection of its own: the streams of one connection
/// are limited (to 100 by some proxies), and a heartbeat must never wait for a watch to end.
struct Wires {
    calls: Wire,
    watches: Wire,
}

/// Way to one API server. All clients that are made from it share its connections.
pub(super) struct Transport {
    endpoint: Endpoint,
    tls: ClientConfig,
    authorization: Option<AuthLayer>,
    token_file: Option<TokenFile>,
    agent: HeaderValue,
    wires: ArcSwap<Wires>,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("server", &self.endpoint.config.cluster_url)
            .finish_non_exhaustive()
    }
}

impl Transport {
    /// Presents `identity` and the token of the endpoint, if there is one. Opens no connection yet.
    pub(super) fn new(
        endpoint: Endpoint,
        identity: Arc<Identity>,
        agent: &str,
    ) -> Result<Arc<Self>, ConnectionError> {
        let server = endpoint.config.cluster_url.to_string();
        let fail = |why: String| ConnectionError::Client {
            server: server.clone(),
            why,
        };
        let mut tls = endpoint
            .config
            .rustls_client_config()
            .map_err(|error| fail(error.to_string()))?;
        tls.client_auth_cert_resolver = identity;
        // A resumed session keeps the identity of the one before, whatever certificate there is now.
        tls.resumption = Resumption::disabled();
        let authorization = endpoint
            .config
            .auth_layer()
            .map_err(|error| fail(error.to_string()))?;
        let agent = HeaderValue::from_str(agent).map_err(|error| fail(error.to_string()))?;
        let wires = Wires::new(&endpoint, &tls).map_err(fail)?;
        Ok(Arc::new(Self {
            token_file: endpoint.token_file.as_deref().map(TokenFile::new),
            endpoint,
            tls,
            authorization,
            agent,
            wires: ArcSwap::from_pointee(wires),
        }))
    }

    /// A client with a bucket of its own.
    pub(super) fn client(self: &Arc<Self>, rate: Rate) -> Result<kube::Client, ConnectionError> {
        let mut config = self.endpoint.config.clone();
        config.headers.push((USER_AGENT, self.agent.clone()));
        let headers = config
            .extra_headers_layer()
            .map_err(|error| self.fail(&error))?;
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(self.authorization.as_ref())
            .layer(headers)
            .layer(RateLayer::new(rate))
            .service(Requests(Arc::clone(self)));
        Ok(kube::Client::new(service, config.default_namespace))
    }

    /// New requests get new connections, which present the newest certificate. Running requests end
    /// on theirs: the API server looks at a certificate when a request begins.
    pub(super) fn reconnect(&self) {
        match Wires::new(&self.endpoint, &self.tls) {
            Ok(wires) => self.wires.store(Arc::new(wires)),
            // It was built from the same things before, so this does not happen.
            Err(error) => {
                tracing::warn!(error, "the connections to the API server stay as they are")
            }
        }
    }

    /// Something beside a certificate says who we are.
    pub(super) fn has_token(&self) -> bool {
        self.endpoint.has_token
    }

    fn fail(&self, error: &kube::Error) -> ConnectionError {
        ConnectionError::Client {
            server: self.endpoint.config.cluster_url.to_string(),
            why: error.to_string(),
        }
    }
}

/// Sends each request over the connections of the moment.
#[derive(Clone)]
struct Requests(Arc<Transport>);

impl Service<Request<Body>> for Requests {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Incoming>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let transport = Arc::clone(&self.0);
        tracing::trace!(method = %request.method(), path = request.uri().path(), "API request");
        Box::pin(async move {
            if let Some(token) = &transport.token_file {
                let value = token.authorization().await?;
                request.headers_mut().insert(AUTHORIZATION, value);
            }
            let wire = transport.wires.load().of(request.uri()).clone();
            wire.oneshot(request).await
        })
    }
}

impl Wires {
    fn new(endpoint: &Endpoint, tls: &ClientConfig) -> Result<Self, String> {
        Ok(Self {
            calls: wire(endpoint, tls, true)?,
            watches: wire(endpoint, tls, false)?,
        })
    }

    fn of(&self, uri: &Uri) -> &Wire {
        let mut fields = uri.query().unwrap_or_default().split('&');
        match fields.any(|field| field == "watch=true") {
            true => &self.watches,
            false => &self.calls,
        }
    }
}

/// A pool of connections.
fn wire(endpoint: &Endpoint, tls: &ClientConfig, http2: bool) -> Result<Wire, String> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_keepalive_retries(Some(KEEPALIVE_TRIES));
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    match &endpoint.proxy {
        None => pool(endpoint, tls, tcp, http2),
        Some(proxy) => pool(endpoint, tls, proxy.tunnel(tcp), http2),
    }
}

fn pool<C>(
    endpoint: &Endpoint,
    tls: &ClientConfig,
    connector: C,
    http2: bool,
) -> Result<Wire, String>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let mut https = HttpsConnectorBuilder::new()
        .with_tls_config(tls.clone())
        .https_or_http();
    if let Some(name) = &endpoint.config.tls_server_name {
        let name = ServerName::try_from(name.clone())
            .map_err(|_| format!("tls-server-name {name:?} is no name of a server"))?;
        https = https.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let https = match http2 {
        true => https.enable_all_versions().wrap_connector(connector),
        false => https.enable_http1().wrap_connector(connector),
    };
    let mut timed = TimeoutConnector::new(https);
    timed.set_connect_timeout(Some(CONNECT));
    timed.set_read_timeout(Some(SILENCE));
    // Else the time a connection lay idle would count against the next answer on it.
    timed.set_reset_reader_on_write(true);
    let client: HyperClient<_, Body> = HyperClient::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .timer(TokioTimer::new())
        .http2_keep_alive_interval(PING.0)
        .http2_keep_alive_timeout(PING.1)
        // Lists are larger than the window that HTTP/2 begins with.
        .http2_adaptive_window(true)
        .build(timed);
    Ok(BoxCloneSyncService::new(client.map_err(BoxError::from)))
}
