//! Limits, protocols, the end, and what is served apart from logs and streams.

use std::time::Duration;

use agent_core::{
    ContainerHave, ContainerId, ContainerName, Observation, PodHave, PodName, PodUid, Recovered,
    RunState, Time,
};
use agent_loops::ports::ExecOutput;
use http::StatusCode;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::testing::{Client, Site};

#[tokio::test]
async fn both_versions_of_http() {
    let site = Site::start().await;
    let mut first = site.admin().await;
    let shown = site.authority.client("admin", None);
    for path in ["/pods", "/configz", "/nowhere"] {
        let one = first.get(path).await;
        let two = Client::get_http_2(site.address, &site.authority, &shown, path).await;
        assert_eq!((one.status, &one.body), (two.status, &two.body), "{path}");
    }
    let stranger = crate::testing::Authority::new().client("admin", None);
    let reply = Client::get_http_2(site.address, &site.authority, &stranger, "/pods").await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn plain_answers() {
    let site = Site::start().await;
    let mut client = site.admin().await;
    let pods: Value = serde_json::from_str(&client.get("/pods").await.body).unwrap();
    assert_eq!(pods["kind"], "PodList");
    assert_eq!(pods["apiVersion"], "v1");
    assert_eq!(pods["items"][0]["metadata"]["name"], "web");
    let configuration: Value = serde_json::from_str(&client.get("/configz").await.body).unwrap();
    assert_eq!(configuration["kubeletconfig"]["port"], 10250);
    for path in [
        "/metrics",
        "/stats/summary",
        "/logs/",
        "/debug/pprof/",
        "/checkpoint/ns/web/main",
        "/exec/ns/web",
        "/",
    ] {
        assert_eq!(
            client.get(path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}

#[tokio::test]
async fn health_and_its_parts() {
    let site = Site::start().await;
    let mut client = site.admin().await;
    let hold = site.readiness.hold("container runtime");
    let reply = client.get("/healthz").await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(
        reply.body,
        "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n"
    );
    assert_eq!(client.get("/healthz?exclude=syncloop").await.body, "ok");
    let reply = client.get("/healthz/syncloop").await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(reply.body.contains("container runtime"), "{}", reply.body);
    assert_eq!(client.get("/healthz/ping").await.body, "ok");
    drop(hold);
    for path in ["/healthz", "/healthz/log", "/healthz/syncloop"] {
        assert_eq!(client.get(path).await.body, "ok", "{path}");
    }
    assert!(
        client
            .get("/healthz?verbose")
            .await
            .body
            .ends_with("healthz check passed\n")
    );
    assert_eq!(
        client.get("/healthz/other").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn other_methods_are_told_which_ones_there_are() {
    let site = Site::start().await;
    let mut client = site.admin().await;
    let read = ("GET", "Method Not Allowed");
    let (stream, post) = (
        ("GET, POST", "405: Method Not Allowed"),
        ("POST", "405: Method Not Allowed"),
    );
    let table = [
        ("POST", "/pods", read),
        ("HEAD", "/pods", read),
        ("DELETE", "/runningpods/", read),
        ("POST", "/containerLogs/ns/web/main", read),
        ("PUT", "/exec/ns/web/main", stream),
        ("DELETE", "/attach/ns/web/main", stream),
        ("PATCH", "/portForward/ns/web", stream),
        ("GET", "/run/ns/web/main", post),
    ];
    for (method, path, (allow, body)) in table {
        let reply = client.ask(method, path, &[]).await;
        assert_eq!(
            reply.status,
            StatusCode::METHOD_NOT_ALLOWED,
            "{method} {path}"
        );
        assert_eq!(reply.headers["allow"], allow, "{method} {path}");
        if method != "HEAD" {
            assert_eq!(reply.body, body);
        }
    }
}

#[tokio::test]
async fn debugging_handlers_can_be_closed() {
    let site = Site::with(|settings| settings.debugging_handlers = false).await;
    let mut client = site.admin().await;
    for path in [
        "/run/ns/web/main",
        "/exec/ns/web/main",
        "/attach/a/b/c",
        "/portForward/ns/web",
        "/containerLogs/ns/web/main",
        "/runningpods/",
        "/logs/",
        "/debug/pprof/heap",
    ] {
        for method in ["GET", "POST"] {
            let reply = client.ask(method, path, &[]).await;
            assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
            assert_eq!(reply.body, "Debug endpoints are disabled.\n");
        }
    }
    for path in ["/configz", "/checkpoint/a/b/c", "/debug/flags/v"] {
        assert_eq!(
            client.get(path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    for path in ["/pods", "/healthz"] {
        assert_eq!(client.get(path).await.status, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn commands_and_their_output() {
    let site = Site::start().await;
    let mut client = site.admin().await;
    let output = |code, output: &str| {
        Some(ExecOutput {
            code,
            output: output.to_owned(),
        })
    };
    *site.runtime.output.lock().unwrap() = output(0, "root\n");
    let reply = client.ask("POST", "/run/ns/web/main?cmd=id+-un", &[]).await;
    assert_eq!(
        (reply.status, reply.body.as_str()),
        (StatusCode::OK, "root\n")
    );
    let reply = client
        .ask("POST", "/run/ns/web/uid-web/main?cmd=id", &[])
        .await;
    assert_eq!(reply.status, StatusCode::OK);
    *site.runtime.output.lock().unwrap() = output(3, "no such user");
    let reply = client.ask("POST", "/run/ns/web/main?cmd=id%20x", &[]).await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(reply.body, "command 'id x' exited with 3: no such user");
    let ran = std::mem::take(&mut *site.runtime.ran.lock().unwrap());
    assert_eq!(
        ran,
        [r#"c1 ["id", "-un"]"#, r#"c1 ["id"]"#, r#"c1 ["id", "x"]"#]
    );
    for (path, status) in [
        (
            "/run/ns/web/other?cmd=id",
            StatusCode::INTERNAL_SERVER_ERROR,
        ),
        (
            "/run/ns/web/other-uid/main?cmd=id",
            StatusCode::INTERNAL_SERVER_ERROR,
        ),
        ("/run/ns/other/main?cmd=id", StatusCode::NOT_FOUND),
        ("/run/other/web/main?cmd=id", StatusCode::NOT_FOUND),
    ] {
        assert_eq!(client.ask("POST", path, &[]).await.status, status, "{path}");
    }
    assert_eq!(*site.runtime.ran.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn running_pods_are_the_runtimes() {
    let site = Site::start().await;
    let container = |name: &str, state| ContainerHave {
        id: ContainerId::new(name),
        name: ContainerName::new(name),
        sandbox: None,
        attempt: 0,
        hash: String::new(),
        state,
        created_at: Time(0),
        started_at: None,
        exit: None,
        image_id: "image@sha256:1".to_owned(),
        user: None,
        recovered: Recovered::default(),
    };
    let seen = |name: &str, containers| Observation {
        uid: PodUid::new(name),
        name: PodName::new("ns", name),
        at: Time(0),
        have: PodHave {
            sandboxes: Vec::new(),
            containers,
        },
        whole: true,
    };
    *site.runtime.seen.lock().unwrap() = vec![
        seen(
            "stranger",
            vec![
                container("up", RunState::Running),
                container("down", RunState::Exited),
            ],
        ),
        seen("over", vec![container("down", RunState::Exited)]),
    ];
    let body = site.admin().await.get("/runningpods/").await.body;
    let pods: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(pods["items"].as_array().unwrap().len(), 1);
    assert_eq!(pods["items"][0]["metadata"]["uid"], "stranger");
    assert_eq!(
        pods["items"][0]["spec"]["containers"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(pods["items"][0]["spec"]["containers"][0]["name"], "up");
}

fn hasty(settings: &mut ServerSettings) {
    settings.limits.handshake = Duration::from_millis(300);
    settings.limits.header = Duration::from_millis(300);
    settings.limits.connections = 2;
    settings.limits.header_bytes = 16 << 10;
}

/// Slow clients lose their place, so that two of them do not close the server for others.
#[tokio::test]
async fn slow_clients_are_let_go() {
    let site = Site::with(hasty).await;
    let mut silent = TcpStream::connect(site.address).await.unwrap();
    let mut slow = Client::stream(site.address, &site.authority, None, "http/1.1")
        .await
        .unwrap();
    slow.write_all(b"GET /pods HTTP/1.1\r\nHost: node\r\nX-Slow: ")
        .await
        .unwrap();
    // Both places are taken, and are free again without any help.
    let reply = site.admin().await.get("/pods").await;
    assert_eq!(reply.status, StatusCode::OK);
    let mut rest = Vec::new();
    let _ = silent.read_to_end(&mut rest).await;
    let _ = slow.read_to_end(&mut rest).await;
    assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
}

#[tokio::test]
async fn headers_have_a_limit() {
    let site = Site::with(hasty).await;
    let mut stream = Client::stream(site.address, &site.authority, None, "http/1.1")
        .await
        .unwrap();
    let long = format!(
        "GET /pods HTTP/1.1\r\nHost: node\r\nX-Long: {}\r\n\r\n",
        "x".repeat(64 << 10)
    );
    // The server may close before it has read everything.
    let _ = stream.write_all(long.as_bytes()).await;
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply).await;
    let reply = String::from_utf8_lossy(&reply);
    assert!(
        reply.is_empty() || reply.starts_with("HTTP/1.1 431"),
        "{reply}"
    );
    assert_eq!(site.admin().await.get("/pods").await.status, StatusCode::OK);
}

#[tokio::test]
async fn plain_http_gets_nothing() {
    let site = Site::start().await;
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    stream
        .write_all(b"GET /pods HTTP/1.1\r\nHost: node\r\n\r\n")
        .await
        .unwrap();
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply).await;
    assert!(!reply.starts_with(b"HTTP"));
}

#[tokio::test]
async fn the_end_comes_with_the_drain() {
    let site = Site::start().await;
    let (address, mut client) = (site.address, site.admin().await);
    assert_eq!(client.get("/pods").await.status, StatusCode::OK);
    site.end().await;
    assert!(
        TcpStream::connect(address).await.is_err(),
        "nobody listens any more"
    );
}

#[tokio::test]
async fn a_port_that_is_taken_is_a_clear_error() {
    let site = Site::start().await;
    let port = site.address.port();
    let error = Site::try_with(|settings| settings.port = port)
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(
        error.to_string().contains(&site.address.to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn settings_that_cannot_be_served_are_an_error() {
    let error = Site::try_with(|settings| settings.tls.curves = vec![1])
        .await
        .map(|_| ());
    assert!(matches!(error, Err(ServerError::Tls(TlsError::Curves(_)))));
}
