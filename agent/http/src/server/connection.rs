//! One connection: the TLS handshake, then requests until it ends.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Server, until};
use crate::access;

/// How often a peer on HTTP/2 has to show that it is there, and how long it may take to.
const ALIVE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(15));
/// Requests at the same time on one HTTP/2 connection, as in Go's server.
const STREAMS: u32 = 250;

/// Who is at the other end.
#[derive(Debug)]
pub(crate) struct Caller {
    /// From where.
    pub(crate) address: SocketAddr,
    /// The certificates that were shown, leaf first. The peer has the leaf's key; who signed it was
    /// not looked at.
    pub(crate) certificates: Vec<CertificateDer<'static>>,
    /// The place that the connection takes, for as long as anything of it lives.
    _place: Option<OwnedSemaphorePermit>,
}

/// Serves one connection to its end.
pub(super) async fn serve(
    server: Arc<Server>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    address: SocketAddr,
    place: Option<OwnedSemaphorePermit>,
) {
    let _ = stream.set_nodelay(true);
    let handshake = tokio::time::timeout(server.settings.limits.handshake, acceptor.accept(stream));
    let stream = match handshake.await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%address, %error, "a TLS handshake failed");
            return;
        }
        Err(_) => {
            tracing::debug!(%address, "a TLS handshake took too long");
            return;
        }
    };
    let (_, session) = stream.get_ref();
    let certificates = session.peer_certificates().unwrap_or_default();
    let caller = Arc::new(Caller {
        address,
        certificates: certificates
            .iter()
            .cloned()
            .map(CertificateDer::into_owned)
            .collect(),
        _place: place,
    });
    let second = session.alpn_protocol() == Some(b"h2");
    let outcome = if second {
        http_2(server, caller, stream).await
    } else {
        http_1(server, caller, stream).await
    };
    if let Err(error) = outcome {
        tracing::debug!(%address, %error, "a connection ended early");
    }
}

async fn http_1(
    server: Arc<Server>,
    caller: Arc<Caller>,
    stream: TlsStream<TcpStream>,
) -> hyper::Result<()> {
    let limits = server.settings.limits;
    let mut closing = server.closing.clone();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .max_buf_size(limits.header_bytes.max(8 << 10));
    let service =
        service_fn(move |request| answer(Arc::clone(&server), Arc::clone(&caller), request));
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection.with_upgrades());
    // The wait alone is cancelled: the connection goes on below.
    tokio::select! {
        outcome = connection.as_mut() => return outcome,
        () = until(&mut closing) => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

async fn http_2(
    server: Arc<Server>,
    caller: Arc<Caller>,
    stream: TlsStream<TcpStream>,
) -> hyper::Result<()> {
    let limits = server.settings.limits;
    let mut closing = server.closing.clone();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(ALIVE.0)
        .keep_alive_timeout(ALIVE.1)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX));
    let service =
        service_fn(move |request| answer(Arc::clone(&server), Arc::clone(&caller), request));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // The wait alone is cancelled: the connection goes on below.
    tokio::select! {
        outcome = connection.as_mut() => return outcome,
        () = until(&mut closing) => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

/// Nothing is answered that was not let in.
async fn answer(
    server: Arc<Server>,
    caller: Arc<Caller>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let answer = match access::admit(&server, &caller, &request).await {
        Ok(who) => {
            tracing::debug!(user = who.name, %method, path, "request to the kubelet's API");
            crate::route::answer(&server, &caller, request).await
        }
        Err(refusal) => refusal,
    };
    Ok(answer)
}
