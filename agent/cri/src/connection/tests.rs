#![allow(clippy::unwrap_used)]

use std::time::Duration;

use agent_core::FailKind;
use proto::cri::VersionRequest;

use super::{Connection, EndpointError};
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "Version",
    reason: "RuntimeUnavailable",
};

#[tokio::test]
async fn addresses() {
    let limit = Duration::from_secs(120);
    for good in ["unix:///run/c.sock", "unix:/run/c.sock", "/run/c.sock"] {
        Connection::new(good, limit).unwrap();
    }
    for bad in ["tcp://127.0.0.1:1", "npipe:////./pipe/c", "run/c.sock", ""] {
        let error = Connection::new(bad, limit).unwrap_err();
        assert!(matches!(error, EndpointError::NotUnix(_)), "{bad}: {error}");
    }
}

#[tokio::test]
async fn deadlines_travel_with_the_call() {
    let connection = Connection::new("/run/c.sock", Duration::from_secs(120)).unwrap();
    let told = |request: &tonic::Request<VersionRequest>| {
        request
            .metadata()
            .get("grpc-timeout")
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        told(&connection.request(VersionRequest::default())),
        "120000m"
    );
    let longer = connection.request_with(VersionRequest::default(), Duration::from_secs(30));
    assert_eq!(told(&longer), "150000m");
}

#[tokio::test]
async fn an_absent_runtime_is_a_retry_and_forgets_what_it_could() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("none.sock");
    let connection = Connection::new(socket.to_str().unwrap(), Duration::from_secs(9)).unwrap();
    connection.set_cdi(Some(true));
    let request = connection.request(VersionRequest::default());
    let fail = connection
        .answer(VERB, connection.runtime().version(request))
        .await
        .unwrap_err();
    assert_eq!(fail.kind, FailKind::Retry);
    assert!(fail.message.contains("No such file"), "{}", fail.message);
    assert_eq!(connection.cdi(), None);
}

#[tokio::test]
async fn a_runtime_that_never_answers_costs_one_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("mute.sock");
    // Accepts nothing: the connection stays in the listen queue.
    let _mute = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let connection = Connection::new(socket.to_str().unwrap(), Duration::from_millis(50)).unwrap();
    let request = connection.request(VersionRequest::default());
    let mut client = connection.runtime();
    let call = connection.answer(VERB, client.version(request));
    let fail = tokio::time::timeout(Duration::from_secs(60), call)
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(fail.kind, FailKind::Retry);
    assert!(fail.message.contains("took too long"), "{}", fail.message);
}
