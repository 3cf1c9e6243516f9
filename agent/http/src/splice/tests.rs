//! Streams through the server to a runtime that echoes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use agent_core::{Fail, Observation, PodHave, SandboxHave, SandboxId, Time};
use agent_loops::PodBoard;
use http::{HeaderMap, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::testing::{Client, Reply, Site, pod, running, waiting};

/// A streaming server that upgrades to whatever is asked and echoes, unless the path says otherwise.
#[derive(Clone, Default)]
struct Echo(Arc<Mutex<Vec<String>>>);

impl Echo {
    async fn start() -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let echo = Self::default();
        let inner = Arc::clone(&echo.0);
        drop(base_daemon::spawn("echo", async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let seen = Arc::clone(&inner);
                drop(base_daemon::spawn("echo", async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.unwrap());
                    }
                    let head = String::from_utf8(head).unwrap();
                    let upgrade = header(&head, "upgrade").unwrap_or_default();
                    let refuse = head.contains("/refuse");
                    let accepted = header(&head, "x-stream-protocol-version")
                        .map(|it| format!("X-Stream-Protocol-Version: {it}\r\n"))
                        .or(header(&head, "sec-websocket-protocol")
                            .map(|it| format!("Sec-WebSocket-Protocol: {it}\r\n")))
                        .unwrap_or_default();
                    let plain = head.contains("/plain");
                    seen.lock().unwrap().push(head);
                    if refuse {
                        let answer = "HTTP/1.1 403 Forbidden\r\nX-Why: version\r\nContent-Length: 6\r\n\r\nno way";
                        stream.write_all(answer.as_bytes()).await.unwrap();
                        return;
                    }
                    if plain {
                        stream
                            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                            .await
                            .unwrap();
                        return;
                    }
                    let answer = format!(
                        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {upgrade}\r\n{accepted}\r\nhello "
                    );
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                    let _ = to.write_all(b" bye").await;
                }));
            }
        }));
        (echo, address)
    }

    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case(name).then(|| value.to_owned())
    })
}

const SPDY: &[(&str, &str)] = &[
    ("connection", "Upgrade"),
    ("upgrade", "SPDY/3.1"),
    ("x-stream-protocol-version", "v4.channel.k8s.io"),
];
const WEB_SOCKET: &[(&str, &str)] = &[
    ("connection", "keep-alive, Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("sec-websocket-version", "13"),
    ("sec-websocket-protocol", "v5.channel.k8s.io"),
];

/// Upgrades, says something, ends its side, and reads to the end.
async fn talk(
    client: &mut Client,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> (HeaderMap, String) {
    let request = crate::testing::request(method, path, headers);
    let mut response = client.send(request).await;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        panic!("{path}: {:?}", Reply::of(response).await);
    }
    let upgraded = hyper::upgrade::on(&mut response).await.unwrap();
    let mut stream = hyper_util::rt::TokioIo::new(upgraded);
    stream.write_all(b"there").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    (response.headers().clone(), heard)
}

fn has_sandbox(site: &Site) {
    let web = pod("web", Vec::new());
    let sandbox = |id: &str, ready| SandboxHave {
        id: SandboxId::new(id),
        attempt: 0,
        ready,
        created_at: Time(0),
        network: None,
    };
    let have = PodHave {
        sandboxes: vec![sandbox("s2", true), sandbox("s1", false)],
        containers: Vec::new(),
    };
    let seen = Observation {
        uid: web.uid.clone(),
        name: web.name.clone(),
        at: Time(0),
        have,
        whole: true,
    };
    *site.runtime.seen.lock().unwrap() = vec![seen];
}

#[tokio::test]
async fn streams_go_through_in_both_protocols() {
    let site = Site::start().await;
    site.admin().await;
    has_sandbox(&site);
    let (echo, address) = Echo::start().await;
    site.streaming.at(format!("http://{address}/token/abc?x=1"));
    let table = [
        (
            "/exec/ns/web/main?command=sh&command=-c&command=a%20b&input=1&output=1&error=1",
            r#"exec c1 ["sh", "-c", "a b"] ioe"#,
            true,
        ),
        (
            "/exec/ns/web/uid-web/main?command=sh&output=1&tty=1&error=1",
            r#"exec c1 ["sh"] ot"#,
            true,
        ),
        ("/attach/ns/web/main?output=1&error=1", "attach c1 oe", true),
        ("/attach/ns/web/uid-web/main?input=1", "attach c1 i", true),
        ("/portForward/ns/web", "forward s2 []", false),
        (
            "/portForward/ns/web/uid-web?port=80",
            "forward s2 []",
            false,
        ),
        (
            "/portForward/ns/web?port=80,81",
            "forward s2 [80, 81]",
            true,
        ),
    ];
    for (path, asked, web_socket) in table {
        for method in ["GET", "POST"] {
            let (headers, name) = if web_socket {
                (WEB_SOCKET, "sec-websocket-protocol")
            } else {
                (SPDY, "x-stream-protocol-version")
            };
            let (answer, heard) = talk(&mut site.admin().await, method, path, headers).await;
            assert_eq!(heard, "hello there bye", "{path}");
            assert_eq!(
                std::mem::take(&mut *site.streaming.asked.lock().unwrap()),
                [asked]
            );
            let head = echo.seen().remove(0);
            assert!(
                head.starts_with(&format!("{method} /token/abc?x=1 HTTP/1.1\r\n")),
                "{head}"
            );
            let sent = |key: &str| {
                headers
                    .iter()
                    .find(|(each, _)| *each == key)
                    .map(|(_, value)| (*value).to_owned())
            };
            for (key, _) in headers {
                assert_eq!(header(&head, key), sent(key), "{key}");
            }
            assert_eq!(Some(answer[name].to_str().unwrap().to_owned()), sent(name));
            assert_eq!(
                Some(answer["upgrade"].to_str().unwrap().to_owned()),
                sent("upgrade")
            );
        }
    }
    // The other protocol on the same endpoint.
    let path = "/exec/ns/web/main?command=sh&output=1";
    assert_eq!(
        talk(&mut site.admin().await, "POST", path, SPDY).await.1,
        "hello there bye"
    );
}

#[tokio::test]
async fn credentials_stay_here() {
    let site = Site::start().await;
    let (echo, address) = Echo::start().await;
    site.streaming.at(format!("http://{address}/"));
    site.access.token("sesame", "robot");
    site.access.allow_all("robot");
    let mut headers = SPDY.to_vec();
    headers.extend([
        ("authorization", "Bearer sesame"),
        ("x-forwarded-for", "10.0.0.1"),
    ]);
    let path = "/exec/ns/web/main?command=sh&output=1";
    talk(&mut site.nobody().await, "POST", path, &headers).await;
    let head = echo.seen().remove(0);
    assert!(
        !head.to_lowercase().contains("authorization") && !head.contains("sesame"),
        "{head}"
    );
    assert_eq!(
        header(&head, "x-forwarded-for").as_deref(),
        Some("10.0.0.1, 127.0.0.1")
    );
    assert_eq!(header(&head, "host"), Some(address.to_string()));
}

#[tokio::test]
async fn no_upgrade_without_a_right() {
    let site = Site::start().await;
    let (echo, address) = Echo::start().await;
    site.streaming.at(format!("http://{address}/"));
    site.access.allow("half", "get", "proxy");
    for path in [
        "/exec/ns/web/main?command=sh&output=1",
        "/attach/ns/web/main?output=1",
        "/portForward/ns/web",
    ] {
        let reply = site
            .client("half", None)
            .await
            .ask("POST", path, SPDY)
            .await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{path}");
        let reply = site.nobody().await.ask("GET", path, WEB_SOCKET).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    assert_eq!(*site.streaming.asked.lock().unwrap(), [""; 0]);
    assert!(echo.seen().is_empty());
}

#[tokio::test]
async fn what_the_runtime_refuses_is_the_answer() {
    let site = Site::start().await;
    let (_, address) = Echo::start().await;
    let path = "/exec/ns/web/main?command=sh&output=1";
    let mut client = site.admin().await;
    site.streaming.at(format!("http://{address}/refuse"));
    let reply = client.ask("POST", path, WEB_SOCKET).await;
    assert_eq!(
        (reply.status, reply.body.as_str()),
        (StatusCode::FORBIDDEN, "no way")
    );
    assert_eq!(reply.headers["x-why"], "version");
    let error = StatusCode::INTERNAL_SERVER_ERROR;
    let closed = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let table = [
        (
            format!("http://{address}/plain"),
            "invalid upgrade response: status code 200",
        ),
        (format!("http://{closed}/"), "cannot be reached"),
        (
            "https://127.0.0.1:1/".to_owned(),
            "has to begin with http://",
        ),
        ("unix:///run/x.sock".to_owned(), "has to begin with http://"),
        ("nonsense".to_owned(), "has to begin with http://"),
    ];
    for (address, expected) in table {
        site.streaming.at(address);
        let reply = site.admin().await.ask("POST", path, SPDY).await;
        assert_eq!(reply.status, error);
        assert!(reply.body.contains(expected), "{}", reply.body);
    }
}

const BAD: StatusCode = StatusCode::BAD_REQUEST;
const MISSING: StatusCode = StatusCode::NOT_FOUND;
const ERROR: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;
const NO_STREAMS: &str = "you must specify at least 1 of stdin, stdout, stderr";

/// A path, its headers, and the answer.
type Row = (
    &'static str,
    &'static [(&'static str, &'static str)],
    StatusCode,
    &'static str,
);

/// Questions that lead to no stream.
const NO_STREAM: [Row; 13] = [
    ("/exec/ns/web/main?command=sh", SPDY, BAD, NO_STREAMS),
    ("/attach/ns/none/main", SPDY, BAD, NO_STREAMS),
    (
        "/exec/ns/none/main?output=1",
        SPDY,
        MISSING,
        "pod does not exist",
    ),
    (
        "/exec/ns/web/none?output=1",
        SPDY,
        ERROR,
        "container not found (\"none\")",
    ),
    (
        "/exec/ns/web/late?output=1",
        SPDY,
        ERROR,
        "container not found (\"late\")",
    ),
    (
        "/exec/ns/web/other/main?output=1",
        SPDY,
        ERROR,
        "container not found (\"main\")",
    ),
    (
        "/attach/ns/web/late?output=1",
        SPDY,
        ERROR,
        "container not found (\"late\")",
    ),
    ("/portForward/ns/none", SPDY, MISSING, "pod does not exist"),
    ("/portForward/ns/web/other", SPDY, MISSING, "pod not found"),
    (
        "/portForward/ns/web",
        WEB_SOCKET,
        BAD,
        "query parameter \"port\" is required",
    ),
    (
        "/exec/ns/web/main?output=1",
        &[],
        ERROR,
        "Upgrade request required\n",
    ),
    (
        "/attach/ns/web/main?output=1",
        &[],
        ERROR,
        "Upgrade request required\n",
    ),
    (
        "/portForward/ns/web",
        &[],
        ERROR,
        "Upgrade request required\n",
    ),
];

/// A server with a pod of three containers, whose streams an echo answers.
async fn streaming_site() -> Site {
    let site = Site::start().await;
    let web = pod(
        "web",
        vec![
            running("main", "c1", 0),
            running("terminal", "c2", 0),
            waiting("late", "ContainerCreating", Some("c3"), None, 0),
        ],
    );
    site.board
        .send_replace(Arc::new(PodBoard::from([(web.uid.clone(), web)])));
    has_sandbox(&site);
    let (_, address) = Echo::start().await;
    site.streaming.at(format!("http://{address}/"));
    site
}

#[tokio::test]
async fn questions_that_lead_to_no_stream() {
    let site = streaming_site().await;
    for (path, headers, status, body) in NO_STREAM {
        let reply = site.admin().await.ask("POST", path, headers).await;
        assert_eq!(
            (reply.status, reply.body.as_str()),
            (status, body),
            "{path}"
        );
    }
}

#[tokio::test]
async fn what_the_runtime_is_asked_and_what_it_lacks() {
    let site = streaming_site().await;
    // The terminal is the container's, not the client's.
    talk(
        &mut site.admin().await,
        "POST",
        "/attach/ns/web/terminal?output=1&error=1",
        SPDY,
    )
    .await;
    assert_eq!(*site.streaming.asked.lock().unwrap(), ["attach c2 ot"]);
    *site.runtime.seen.lock().unwrap() = Vec::new();
    assert_eq!(
        site.admin()
            .await
            .ask("POST", "/portForward/ns/web", SPDY)
            .await
            .status,
        ERROR
    );
    for (fail, status) in [
        (Fail::gone("ExecError", "it is gone"), MISSING),
        (Fail::retry("ExecError", "it is gone"), ERROR),
    ] {
        *site.streaming.answer.lock().unwrap() = Some(Err(fail));
        let reply = site
            .admin()
            .await
            .ask("POST", "/exec/ns/web/main?output=1", SPDY)
            .await;
        assert_eq!((reply.status, reply.body.as_str()), (status, "it is gone"));
    }
}

#[tokio::test]
async fn streams_end_with_the_server() {
    let site = Site::start().await;
    let (_, address) = Echo::start().await;
    site.streaming.at(format!("http://{address}/"));
    let request = crate::testing::request("POST", "/exec/ns/web/main?output=1", SPDY);
    let mut response = site.admin().await.send(request).await;
    let upgraded = hyper::upgrade::on(&mut response).await.unwrap();
    let mut stream = hyper_util::rt::TokioIo::new(upgraded);
    let mut hello = [0; 6];
    stream.read_exact(&mut hello).await.unwrap();
    site.end().await;
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
}
