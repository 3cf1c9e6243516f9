//! HTTPS with a certificate that nobody should accept, and gRPC.

use std::sync::Arc;

use agent_core::HttpGet;
use agent_loops::ports::Asker;
use proto::grpc_health::health_check_response::ServingStatus;
use proto::grpc_health::health_server::{Health, HealthServer};
use proto::grpc_health::{HealthCheckRequest, HealthCheckResponse};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tonic::codegen::tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use super::{LIMIT, get, response};
use crate::NetworkAsker;

/// Self-signed, for another name.
fn acceptor() -> TlsAcceptor {
    let certificate = CertificateDer::from_slice(include_bytes!("certificate.der"));
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(&include_bytes!("key.der")[..]));
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn any_certificate_is_accepted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut server = JoinSet::new();
    server.spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor().accept(stream).await.unwrap();
        let mut request = [0; 1024];
        let read = stream.read(&mut request).await.unwrap();
        stream
            .write_all(response("200 OK", "secure").as_bytes())
            .await
            .unwrap();
        stream.shutdown().await.unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let secure = HttpGet {
        tls: true,
        ..get(port, "/")
    };
    let answer = NetworkAsker::new()
        .unwrap()
        .http(&secure, "127.0.0.1", LIMIT)
        .await
        .unwrap();
    assert_eq!((answer.success, &*answer.detail), (true, "secure"));
    let asked = server.join_next().await.unwrap().unwrap();
    assert!(asked.starts_with("GET / HTTP/1.1\r\n"), "{asked}");
}

/// Serves `good`, does not serve `bad`, and does not know any other.
struct Judge;

#[tonic::async_trait]
impl Health for Judge {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let agent = request
            .metadata()
            .get("user-agent")
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        assert!(agent.starts_with("kube-probe/1.37"), "{agent}");
        let status = match request.get_ref().service.as_str() {
            "" | "good" => ServingStatus::Serving,
            "bad" => ServingStatus::NotServing,
            _ => return Err(Status::not_found("unknown service")),
        };
        Ok(Response::new(HealthCheckResponse {
            status: status.into(),
        }))
    }
}

#[tokio::test]
async fn grpc_health_is_asked_by_service() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut server = JoinSet::new();
    server.spawn(
        tonic::transport::Server::builder()
            .add_service(HealthServer::new(Judge))
            .serve_with_incoming(TcpListenerStream::new(listener)),
    );
    let asker = NetworkAsker::new().unwrap();
    for (service, success, detail) in [
        ("", true, "service healthy"),
        ("good", true, "service healthy"),
        (
            "bad",
            false,
            "service unhealthy (responded with \"NOT_SERVING\")",
        ),
        ("other", false, "gRPC health check failed: unknown service"),
    ] {
        let answer = asker.grpc("127.0.0.1", port, service, LIMIT).await.unwrap();
        assert_eq!(
            (answer.success, &*answer.detail),
            (success, detail),
            "{service}"
        );
    }
}
