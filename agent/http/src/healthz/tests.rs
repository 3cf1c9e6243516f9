use std::net::Ipv4Addr;

use base_daemon::Drain;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

async fn ask(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn lives_from_the_start_and_says_what_is_missing_until_everything_is_up() {
    let (drain, readiness) = (Drain::default(), Readiness::default());
    let hold = readiness.hold("runtime");
    let (address, serving) = serve_healthz(
        Ipv4Addr::LOCALHOST.into(),
        0,
        readiness.clone(),
        drain.guard(),
    )
    .await
    .unwrap();
    let server = base_daemon::spawn("healthz", serving);

    for path in ["/healthz", "/healthz/ping"] {
        let answer = ask(address, path).await;
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"),
            "{answer}"
        );
    }
    let answer = ask(address, "/readyz").await;
    assert!(
        answer.starts_with("HTTP/1.1 500") && answer.contains("runtime"),
        "{answer}"
    );
    drop(hold);
    let answer = ask(address, "/readyz").await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"),
        "{answer}"
    );
    assert!(ask(address, "/pods").await.starts_with("HTTP/1.1 404"));

    drain.begin();
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_port_that_is_taken_is_a_clear_error() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = taken.local_addr().unwrap();
    let outcome = serve_healthz(
        address.ip(),
        address.port(),
        Readiness::default(),
        Drain::default().guard(),
    )
    .await;
    let error = outcome.map(|(address, _)| address).unwrap_err();
    assert!(error.to_string().contains(&address.to_string()));
}
