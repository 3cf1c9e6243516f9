use kube::core::response::StatusDetails;

use super::*;

fn answer(code: u16, reason: &str, message: &str) -> kube::Error {
    let status = Status::failure(message, reason).with_code(code);
    kube::Error::Api(Box::new(status))
}

#[test]
fn the_code_says_whether_to_try_again() {
    let kind = |code, reason: &str| {
        let fail = api_fail(&answer(code, reason, "no"), "get pod a/b");
        (fail.kind, fail.reason)
    };
    assert_eq!(kind(404, "NotFound"), (FailKind::Gone, "NotFound"));
    assert_eq!(kind(410, "Expired"), (FailKind::Retry, "Expired"));
    assert_eq!(kind(409, "Conflict"), (FailKind::Retry, "Conflict"));
    assert_eq!(
        kind(409, "AlreadyExists"),
        (FailKind::Permanent, "AlreadyExists")
    );
    assert_eq!(kind(422, "Invalid"), (FailKind::Permanent, "Invalid"));
    assert_eq!(kind(403, "Forbidden"), (FailKind::Retry, "Forbidden"));
    assert_eq!(kind(429, ""), (FailKind::Retry, "TooManyRequests"));
    assert_eq!(kind(502, ""), (FailKind::Retry, "InternalError"));
    assert_eq!(kind(418, ""), (FailKind::Permanent, "UnexpectedAnswer"));
}

#[test]
fn the_message_names_the_call_the_answer_and_what_to_do() {
    let fail = api_fail(
        &answer(422, "Invalid", "Pod \"b\" is invalid"),
        "get pod a/b",
    );
    assert_eq!(fail.message, "get pod a/b: Pod \"b\" is invalid");
    let fail = api_fail(&answer(503, "", ""), "list pods");
    assert_eq!(
        fail.message,
        "list pods: HTTP 503; the API server or what it needs is down"
    );
}

#[test]
fn the_servers_wish_to_wait_is_heard() {
    let mut status = Status::failure("slow down", "TooManyRequests").with_code(429);
    status.details = Some(StatusDetails {
        retry_after_seconds: 7,
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
    });
    let error = kube::Error::Api(Box::new(status));
    assert_eq!(retry_after(&error), Some(Duration::from_secs(7)));
    assert_eq!(retry_after(&answer(429, "", "")), None);
}

#[test]
fn a_broken_connection_is_told_by_its_innermost_cause() {
    let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    let fail = api_fail(&kube::Error::Service(Box::new(refused)), "list pods");
    assert_eq!(
        (fail.kind, fail.reason),
        (FailKind::Retry, "APIServerUnreachable")
    );
    assert!(
        fail.message.contains("connection refused") && fail.message.contains("server address"),
        "{}",
        fail.message
    );
}

#[test]
fn a_foreign_server_certificate_is_told_as_such() {
    let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
    let hidden = std::io::Error::other(tls);
    let fail = api_fail(&kube::Error::Service(Box::new(hidden)), "list pods");
    assert!(
        fail.message.contains("certificate-authority"),
        "{}",
        fail.message
    );
}
