//! HTTP and HTTPS.
//!
//! As the stock kubelet asks: no proxy, no connection that is kept, any certificate, redirects
//! followed up to ten times as long as they stay on the host; one that leaves it is a success.

use std::sync::Arc;

use agent_core::HttpGet;
use agent_loops::ports::Answer;
use bytes::Bytes;
use http::header::{ACCEPT, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::redirect::{self, Target};
use super::{USER_AGENT, address, causes, no, yes};

/// Most requests in a row.
const REQUESTS: usize = 10;
/// Most of a body that is read.
const BODY: usize = 10 * 1024;

/// What came back of one request.
struct Reply {
    status: StatusCode,
    location: Option<String>,
    body: String,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

pub(super) async fn ask(get: &HttpGet, ip: &str, tls: &Arc<rustls::ClientConfig>) -> Answer {
    let headers = match headers(get) {
        Ok(headers) => headers,
        Err(message) => return no(message),
    };
    let host = get.host.as_deref().unwrap_or(ip);
    let first = Target {
        tls: get.tls,
        host: super::bare(host).to_owned(),
        port: get.port,
        path: get.path.clone(),
    };
    let mut target = first.clone();
    for _ in 0..REQUESTS {
        let reply = match request(&target, headers.clone(), tls).await {
            Ok(reply) => reply,
            Err(error) => {
                let place = address(&target.host, target.port);
                return no(format!(
                    "HTTP request to {place} failed: {}",
                    causes(&*error)
                ));
            }
        };
        let next = reply
            .location
            .as_deref()
            .filter(|_| is_redirect(reply.status));
        match next.map(|location| redirect::follow(&target, location)) {
            None => return judge(&reply),
            Some(None) => return no("HTTP redirect to an address that cannot be read".to_owned()),
            Some(Some(next)) if !next.host.eq_ignore_ascii_case(&first.host) => {
                return judge(&reply);
            }
            Some(Some(next)) => target = next,
        }
    }
    no(format!("stopped after {REQUESTS} redirects"))
}

/// The statuses that name another place to ask.
fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// 200 to 399 is success. A failure does not show the body: it could be meant for somebody else.
fn judge(reply: &Reply) -> Answer {
    match reply.status.as_u16() {
        200..=299 => yes(reply.body.clone()),
        300..=399 => yes(format!(
            "redirected to another host, answer: {}",
            reply.body
        )),
        status => Answer {
            answered: true,
            ..no(format!("HTTP probe failed with statuscode: {status}"))
        },
    }
}

/// The manifest's headers, and those of the stock kubelet that it does not name. An empty `Accept`
/// means none.
fn headers(get: &HttpGet) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &get.headers {
        let wrong = || format!("HTTP header {name:?} has a form that cannot be sent");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        headers.append(name, HeaderValue::from_str(value).map_err(|_| wrong())?);
    }
    if !headers.contains_key(http::header::USER_AGENT) {
        headers.insert(
            http::header::USER_AGENT,
            HeaderValue::from_static(USER_AGENT),
        );
    }
    match headers.get(ACCEPT).map(HeaderValue::is_empty) {
        None => drop(headers.insert(ACCEPT, HeaderValue::from_static("*/*"))),
        Some(true) => drop(headers.remove(ACCEPT)),
        Some(false) => {}
    }
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Ok(headers)
}

async fn request(
    target: &Target,
    mut headers: HeaderMap,
    tls: &Arc<rustls::ClientConfig>,
) -> Result<Reply, Failure> {
    let stream = TcpStream::connect((target.host.as_str(), target.port)).await?;
    if !headers.contains_key(HOST) {
        headers.insert(
            HOST,
            HeaderValue::from_str(&address(&target.host, target.port))?,
        );
    }
    let mut request = Request::get(target.path.as_str()).body(Empty::<Bytes>::new())?;
    *request.headers_mut() = headers;
    if target.tls {
        let name = ServerName::try_from(target.host.clone())?;
        let stream = TlsConnector::from(Arc::clone(tls))
            .connect(name, stream)
            .await?;
        exchange(stream, request).await
    } else {
        exchange(stream, request).await
    }
}

/// One request and its answer. Sending and driving the connection run side by side in this task, so
/// that nothing is left when the caller gives up.
async fn exchange<S>(stream: S, request: Request<Empty<Bytes>>) -> Result<Reply, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let asked = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let location = response
            .headers()
            .get(LOCATION)
            .and_then(|place| place.to_str().ok());
        let location = location.map(str::to_owned);
        Ok(Reply {
            status,
            location,
            body: beginning(response.into_body()).await,
        })
    };
    tokio::pin!(asked);
    tokio::select! {
        reply = &mut asked => reply,
        // Over before the answer was read: what there is of it is there now.
        ended = connection => {
            ended?;
            asked.await
        }
    }
}

/// The beginning of a body. One that breaks off counts as far as it came.
async fn beginning(mut body: Incoming) -> String {
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(data) = frame.data_ref() {
            bytes.extend_from_slice(data.get(..BODY - bytes.len()).unwrap_or(data));
        }
        if bytes.len() >= BODY {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
