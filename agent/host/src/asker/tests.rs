#![allow(clippy::unwrap_used, clippy::panic)]

mod secure;

use std::collections::VecDeque;
use std::time::Duration;

use agent_core::HttpGet;
use agent_loops::ports::{Answer, Asker};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::redirect::{Target, follow};
use super::{NetworkAsker, address};

const LIMIT: Duration = Duration::from_secs(10);

/// A server that gives one answer to each connection in turn, and keeps what it was asked.
struct Server {
    port: u16,
    task: JoinSet<Vec<String>>,
}

impl Server {
    async fn start(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut answers: VecDeque<String> = answers
            .iter()
            .map(|answer| answer.replace("PORT", &port.to_string()))
            .collect();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut asked = Vec::new();
            while let Some(answer) = answers.pop_front() {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read(&mut byte).await.unwrap() == 0 {
                        break;
                    }
                    request.push(byte[0]);
                }
                asked.push(String::from_utf8(request).unwrap());
                // The client may have read enough before the end.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
            asked
        });
        Self { port, task }
    }

    async fn asked(mut self) -> Vec<String> {
        self.task.join_next().await.unwrap().unwrap()
    }
}

fn get(port: u16, path: &str) -> HttpGet {
    HttpGet {
        tls: false,
        host: None,
        port,
        path: path.to_owned(),
        headers: Vec::new(),
    }
}

async fn ask(get: &HttpGet) -> Answer {
    NetworkAsker::new()
        .unwrap()
        .http(get, "127.0.0.1", LIMIT)
        .await
        .unwrap()
}

fn response(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn redirect(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
}

#[tokio::test]
async fn two_and_three_hundred_are_success_and_a_failure_hides_its_body() {
    for (status, success, detail) in [
        ("200 OK", true, "text"),
        ("204 No Content", true, ""),
        (
            "304 Not Modified",
            true,
            "redirected to another host, answer: ",
        ),
        (
            "404 Not Found",
            false,
            "HTTP probe failed with statuscode: 404",
        ),
        ("500 Oops", false, "HTTP probe failed with statuscode: 500"),
    ] {
        let body = if status.starts_with('2') || status.starts_with('3') {
            detail
        } else {
            "secret"
        };
        let body = if status.starts_with('3') { "" } else { body };
        let server = Server::start(&[&response(status, body)]).await;
        let answer = ask(&get(server.port, "/")).await;
        assert_eq!(
            (answer.success, &*answer.detail),
            (success, detail),
            "{status}"
        );
        assert!(
            answer.answered,
            "a hook needs no more than an answer: {status}"
        );
    }
}

#[tokio::test]
async fn a_request_looks_like_the_stock_kubelets() {
    let server = Server::start(&[&response("200 OK", "")]).await;
    let port = server.port;
    ask(&get(port, "/healthz?full=1")).await;
    let asked = server.asked().await.remove(0).to_lowercase();
    assert!(
        asked.starts_with("get /healthz?full=1 http/1.1\r\n"),
        "{asked}"
    );
    for line in [
        "user-agent: kube-probe/1.37\r\n",
        "accept: */*\r\n",
        "connection: close\r\n",
        &format!("host: 127.0.0.1:{port}\r\n"),
    ] {
        assert!(asked.contains(line), "{line} is missing in {asked}");
    }
    let server = Server::start(&[&response("200 OK", "")]).await;
    let own = [
        ("Host", "web.example"),
        ("User-Agent", "me"),
        ("Accept", ""),
        ("X-A", "1"),
        ("X-A", "2"),
    ];
    let headers = own
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    ask(&HttpGet {
        headers,
        ..get(server.port, "/")
    })
    .await;
    let asked = server.asked().await.remove(0).to_lowercase();
    for line in [
        "host: web.example\r\n",
        "user-agent: me\r\n",
        "x-a: 1\r\nx-a: 2\r\n",
    ] {
        assert!(asked.contains(line), "{line} is missing in {asked}");
    }
    assert!(!asked.contains("accept:"), "{asked}");
}

#[tokio::test]
async fn redirects_on_the_host_are_followed_and_one_that_leaves_it_is_success() {
    let answers = [
        redirect(302, "/next"),
        redirect(307, "http://127.0.0.1:PORT/last"),
        response("200 OK", "end"),
    ];
    let server = Server::start(&answers.each_ref().map(String::as_str)).await;
    let answer = ask(&get(server.port, "/")).await;
    assert_eq!((answer.success, &*answer.detail), (true, "end"));
    let paths: Vec<String> = server
        .asked()
        .await
        .iter()
        .map(|request| request.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(paths, ["/", "/next", "/last"]);
    let server = Server::start(&[&redirect(302, "http://elsewhere.example/")]).await;
    let answer = ask(&get(server.port, "/")).await;
    assert_eq!(
        (answer.success, &*answer.detail),
        (true, "redirected to another host, answer: ")
    );
    let endless = vec![redirect(302, "/again"); 10];
    let server = Server::start(&endless.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let answer = ask(&get(server.port, "/")).await;
    assert_eq!(
        (answer.success, &*answer.detail),
        (false, "stopped after 10 redirects")
    );
}

#[test]
fn where_redirects_lead() {
    let from = Target {
        tls: false,
        host: "h".to_owned(),
        port: 8080,
        path: "/a/b?q".to_owned(),
    };
    let table = [
        ("/x?y", Some((false, "h", 8080, "/x?y"))),
        ("c", Some((false, "h", 8080, "/a/c"))),
        ("?z", Some((false, "h", 8080, "/a/b?z"))),
        ("", Some((false, "h", 8080, "/a/b?q"))),
        ("/x#part", Some((false, "h", 8080, "/x"))),
        ("//o/x", Some((false, "o", 80, "/x"))),
        ("https://o", Some((true, "o", 443, "/"))),
        ("http://[fd00::1]:99/x", Some((false, "fd00::1", 99, "/x"))),
        ("ftp://o/x", None),
        ("http://", None),
    ];
    for (location, expected) in table {
        let expected = expected.map(|(tls, host, port, path): (bool, &str, u16, &str)| Target {
            tls,
            host: host.to_owned(),
            port,
            path: path.to_owned(),
        });
        assert_eq!(follow(&from, location), expected, "{location:?}");
    }
}

#[tokio::test]
async fn a_body_is_read_to_ten_kibibytes_and_no_further() {
    let server = Server::start(&[&response("200 OK", &"x".repeat(1_000_000))]).await;
    assert_eq!(ask(&get(server.port, "/")).await.detail.len(), 10 * 1024);
}

#[tokio::test]
async fn who_does_not_answer_fails_in_time() {
    let asker = NetworkAsker::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let short = Duration::from_millis(50);
    let answer = asker
        .http(&get(port, "/"), "127.0.0.1", short)
        .await
        .unwrap();
    assert_eq!(
        (answer.success, &*answer.detail),
        (false, "no answer within 50ms")
    );
    let answer = asker.grpc("127.0.0.1", port, "", short).await.unwrap();
    assert_eq!(
        (answer.success, &*answer.detail),
        (false, "no answer within 50ms")
    );
    assert!(asker.tcp("127.0.0.1", port, LIMIT).await.unwrap().success);
    drop(listener);
    for answer in [
        asker
            .http(&get(port, "/"), "127.0.0.1", LIMIT)
            .await
            .unwrap(),
        asker.tcp("127.0.0.1", port, LIMIT).await.unwrap(),
        asker.grpc("127.0.0.1", port, "", LIMIT).await.unwrap(),
    ] {
        assert!(
            !answer.success && !answer.answered && answer.detail.contains("refused"),
            "{answer:?}"
        );
    }
}

#[test]
fn a_refused_connection_is_told_in_the_stock_words() {
    let error = std::io::ErrorKind::ConnectionRefused.into();
    assert_eq!(
        super::refused("10.0.0.1:80", &error),
        "dial tcp 10.0.0.1:80: connect: connection refused"
    );
}

#[tokio::test]
async fn garbage_is_a_failure() {
    for answer in ["", "hello\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200"] {
        let server = Server::start(&[answer]).await;
        let answer = ask(&get(server.port, "/")).await;
        assert!(
            !answer.success && answer.detail.starts_with("HTTP request to "),
            "{answer:?}"
        );
    }
    let headers = vec![("A b".to_owned(), "c".to_owned())];
    let answer = ask(&HttpGet {
        headers,
        ..get(1, "/")
    })
    .await;
    assert_eq!(
        answer.detail,
        "HTTP header \"A b\" has a form that cannot be sent"
    );
}

#[test]
fn addresses_of_both_families_are_written_as_in_a_url() {
    assert_eq!(address("10.0.0.1", 80), "10.0.0.1:80");
    assert_eq!(address("fd00::1", 80), "[fd00::1]:80");
    assert_eq!(address("[fd00::1]", 80), "[fd00::1]:80");
    assert_eq!(address("web.example", 80), "web.example:80");
}
