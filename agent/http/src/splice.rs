//! Passes an upgraded connection on to the runtime's streaming server.
//!
//! What the two sides speak, SPDY or WebSocket, is theirs: headers go through, then bytes do. An answer
//! of the runtime that is no upgrade is the client's answer.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use base_daemon::Chain;
use http::header::{AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use http::{Request, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWriteExt, copy, split};
use tokio::net::TcpStream;

use crate::answer::{error, text};
use crate::server::{Caller, Server, until};

/// For a connection to the runtime, which is on this host.
const CONNECT: Duration = Duration::from_secs(10);
/// For its answer. A command is started before it answers.
const ANSWER: Duration = Duration::from_secs(60);
/// For what the runtime still sends after the client has gone.
const REST: Duration = Duration::from_secs(5);

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Why there is nothing to pass on to.
#[derive(Debug, thiserror::Error)]
enum SpliceError {
    #[error("the runtime gave an address that cannot be streamed to; it has to begin with http://")]
    Address,
    #[error("the runtime's streaming server cannot be reached")]
    Connect(#[source] std::io::Error),
    #[error("the runtime's streaming server did not answer in time")]
    Late,
    #[error("the runtime's streaming server gave no answer")]
    Http(#[from] hyper::Error),
    #[error("invalid upgrade response: status code {0}")]
    NoUpgrade(u16),
}

/// Passes `request` on to `address`, which the runtime gave for it, and answers what it answers.
/// Without an upgrade the answer is an error. Kubernetes 1.37: status and text of it.
pub(crate) async fn splice(
    server: &Arc<Server>,
    caller: &Arc<Caller>,
    address: &str,
    mut request: Request<Incoming>,
) -> Response<Body> {
    if !is_upgrade(request.headers()) || request.version() != Version::HTTP_11 {
        return error(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Upgrade request required",
        );
    }
    let client = hyper::upgrade::on(&mut request);
    match ask(caller, address, &request).await {
        Ok(mut answer) if answer.status() == StatusCode::SWITCHING_PROTOCOLS => {
            let runtime = hyper::upgrade::on(&mut answer);
            let (server, caller) = (Arc::clone(server), Arc::clone(caller));
            let streaming = stream(server, caller, client, runtime);
            drop(base_daemon::spawn("stream into a container", streaming));
            let (parts, _) = answer.into_parts();
            let mut response = Response::from_parts(parts, Body::empty());
            drop_framing(response.headers_mut());
            response
        }
        Ok(answer) if answer.status().as_u16() >= 400 => answer.map(Body::new),
        Ok(answer) => failed(caller, &SpliceError::NoUpgrade(answer.status().as_u16())),
        Err(problem) => failed(caller, &problem),
    }
}

fn failed(caller: &Caller, problem: &SpliceError) -> Response<Body> {
    tracing::warn!(address = %caller.address, "no stream into a container: {}", Chain(problem));
    let body = format!("{}\n", Chain(problem));
    text(StatusCode::INTERNAL_SERVER_ERROR, body)
}

/// Sends the request to the runtime. The connection lives on for the upgrade.
async fn ask(
    caller: &Caller,
    address: &str,
    request: &Request<Incoming>,
) -> Result<Response<Incoming>, SpliceError> {
    let (authority, path) = parts(address).ok_or(SpliceError::Address)?;
    let connecting = tokio::time::timeout(CONNECT, TcpStream::connect(authority.as_str()));
    let stream = connecting
        .await
        .map_err(|_| SpliceError::Late)?
        .map_err(SpliceError::Connect)?;
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    drop(base_daemon::spawn(
        "connection to the runtime",
        async move {
            // How it ends is seen by whoever reads the answer or the stream.
            let _ = connection.with_upgrades().await;
        },
    ));
    let mut passed = Request::new(Body::empty());
    *passed.method_mut() = request.method().clone();
    *passed.uri_mut() = path;
    *passed.headers_mut() = passed_on(request.headers(), &authority, caller);
    let answer = tokio::time::timeout(ANSWER, sender.send_request(passed));
    Ok(answer.await.map_err(|_| SpliceError::Late)??)
}

/// Host and port, and path with query.
fn parts(address: &str) -> Option<(String, Uri)> {
    let uri: Uri = address.parse().ok()?;
    if uri.scheme_str() != Some("http") {
        return None;
    }
    let host = uri.host()?;
    let port = uri.port_u16().unwrap_or(80);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Some((format!("{host}:{port}"), path.parse().ok()?))
}

/// All headers, the client's credentials excepted: the runtime has no use for them.
fn passed_on(headers: &HeaderMap, authority: &str, caller: &Caller) -> HeaderMap {
    let mut passed = headers.clone();
    passed.remove(AUTHORIZATION);
    drop_framing(&mut passed);
    if let Ok(host) = HeaderValue::from_str(authority) {
        passed.insert(HOST, host);
    }
    let before = headers
        .get(FORWARDED_FOR)
        .and_then(|value| value.to_str().ok());
    let client = caller.address.ip();
    let chain = before.map_or_else(
        || client.to_string(),
        |before| format!("{before}, {client}"),
    );
    if let Ok(chain) = HeaderValue::from_str(&chain) {
        passed.insert(FORWARDED_FOR, chain);
    }
    passed
}

/// An upgrade has no body, so nothing may say that it has one.
fn drop_framing(headers: &mut HeaderMap) {
    headers.remove(http::header::CONTENT_LENGTH);
    headers.remove(http::header::TRANSFER_ENCODING);
}

/// Whether a request asks for another protocol.
fn is_upgrade(headers: &HeaderMap) -> bool {
    let mut connection = headers.get_all(CONNECTION).iter();
    connection.any(|value| contains(value, "upgrade")) && headers.contains_key(UPGRADE)
}

/// Whether that protocol is WebSocket.
pub(crate) fn is_web_socket(headers: &HeaderMap) -> bool {
    is_upgrade(headers)
        && headers
            .get(UPGRADE)
            .is_some_and(|value| contains(value, "websocket"))
}

fn contains(value: &HeaderValue, word: &str) -> bool {
    value
        .to_str()
        .is_ok_and(|value| value.to_ascii_lowercase().contains(word))
}

/// Carries bytes both ways until one side ends, or the server does. The caller keeps its place among
/// the connections for as long.
async fn stream(server: Arc<Server>, caller: Arc<Caller>, client: OnUpgrade, runtime: OnUpgrade) {
    let mut closing = server.closing.clone();
    let carried = async {
        match tokio::try_join!(client, runtime) {
            Ok((client, runtime)) => carry(client, runtime).await,
            Err(problem) => {
                tracing::debug!(address = %caller.address, %problem, "an upgrade failed")
            }
        }
    };
    // Either way both connections are dropped, which is how each side sees the end.
    tokio::select! {
        () = carried => {}
        () = until(&mut closing) => {}
    }
}

async fn carry(client: Upgraded, runtime: Upgraded) {
    let (mut from_client, mut to_client) = split(TokioIo::new(client));
    let (mut from_runtime, mut to_runtime) = split(TokioIo::new(runtime));
    let down = async {
        let _ = copy(&mut from_runtime, &mut to_client).await;
        let _ = to_client.shutdown().await;
    };
    let up = async {
        let _ = copy(&mut from_client, &mut to_runtime).await;
        let _ = to_runtime.shutdown().await;
        tokio::time::sleep(REST).await;
    };
    // When the runtime has ended there is nobody to send to; when the client has, there may still be
    // something under way.
    tokio::select! {
        () = down => {}
        () = up => {}
    }
}

#[cfg(test)]
mod tests;
