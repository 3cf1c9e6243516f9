//! A client that speaks TLS, and HTTP by hand or through the library.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::certificates::{Authority, Shown};

pub(crate) struct Client(http1::SendRequest<Body>);

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Client {
    pub(crate) async fn connect(
        address: SocketAddr,
        authority: &Authority,
        shown: Option<&Shown>,
    ) -> Self {
        let stream = Self::stream(address, authority, shown, "http/1.1")
            .await
            .unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        drop(base_daemon::spawn("client", async move {
            let _ = connection.with_upgrades().await;
        }));
        Self(sender)
    }

    /// The bare stream after the handshake.
    pub(crate) async fn stream(
        address: SocketAddr,
        authority: &Authority,
        shown: Option<&Shown>,
        protocol: &str,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(authority.der()).unwrap();
        let builder =
            rustls::ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots);
        let mut config = match shown {
            Some(shown) => builder
                .with_client_auth_cert(vec![shown.certificate.clone()], shown.key.clone_key())
                .unwrap(),
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(address).await?;
        let name = "localhost".try_into().unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
    }

    pub(crate) async fn send(&mut self, request: Request<Body>) -> http::Response<Incoming> {
        self.0.ready().await.unwrap();
        self.0.send_request(request).await.unwrap()
    }

    pub(crate) async fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Reply {
        let response = self.send(request(method, path, headers)).await;
        Reply::of(response).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.ask("GET", path, &[]).await
    }

    /// One request over HTTP/2.
    pub(crate) async fn get_http_2(
        address: SocketAddr,
        authority: &Authority,
        shown: &Shown,
        path: &str,
    ) -> Reply {
        let stream = Self::stream(address, authority, Some(shown), "h2")
            .await
            .unwrap();
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        drop(base_daemon::spawn("client", async move {
            let _ = connection.await;
        }));
        let request = Request::get(format!("https://localhost{path}"))
            .body(Body::empty())
            .unwrap();
        Reply::of(sender.send_request(request).await.unwrap()).await
    }
}

pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "node");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

impl Reply {
    pub(crate) async fn of(response: http::Response<Incoming>) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Self {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }
}
