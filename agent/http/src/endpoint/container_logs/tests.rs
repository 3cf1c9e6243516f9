//! Whose log is answered, and what is said when there is none.

use std::fs;
use std::sync::Arc;

use agent_loops::PodBoard;
use http::StatusCode;

use crate::testing::{Site, ended, pod, running, waiting};

const LINE: &str = "2026-01-01T00:00:00.5Z stdout F";

/// Which file is answered, or what is said instead.
const INSTANCES: [(&str, Result<&str, &str>); 13] = [
    ("up", Ok("up/3.log")),
    ("over", Ok("over/1.log")),
    ("again", Ok("again/5.log")),
    ("again?previous=true", Ok("again/5.log")),
    ("made", Ok("made/6.log")),
    ("made?previous=true", Ok("made/6.log")),
    (
        "up?previous=true",
        Err("previous terminated container \"up\" in pod \"a\" not found"),
    ),
    (
        "over?previous=true",
        Err("previous terminated container \"over\" in pod \"a\" not found"),
    ),
    (
        "new",
        Err("container \"new\" in pod \"a\" is waiting to start: ContainerCreating"),
    ),
    (
        "first",
        Err("container \"first\" in pod \"a\" is waiting to start: PodInitializing"),
    ),
    (
        "bad",
        Err("container \"bad\" in pod \"a\" is waiting to start: image can't be pulled"),
    ),
    (
        "worse",
        Err(
            "container \"worse\" in pod \"a\" is waiting to start: trying and failing to pull image",
        ),
    ),
    (
        "forgotten",
        Err("container \"forgotten\" in pod \"a\" is terminated"),
    ),
];

/// A log with one line that says what it is of.
fn log(site: &Site, place: &str) {
    let path = site.folder.path().join("pods").join(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{LINE} {place}\n")).unwrap();
}

fn shows(site: &Site, pods: Vec<Arc<agent_loops::PodSnapshot>>) {
    let board = pods
        .into_iter()
        .map(|pod| (pod.uid.clone(), pod))
        .collect::<PodBoard>();
    site.board.send_replace(Arc::new(board));
}

#[tokio::test]
async fn the_log_of_the_right_instance() {
    let site = Site::start().await;
    let mut client = site.admin().await;
    shows(
        &site,
        vec![pod(
            "a",
            vec![
                running("up", "c3", 3),
                ended("over", "c1", 1),
                waiting("again", "CrashLoopBackOff", Some("c5"), Some("c5"), 5),
                waiting("made", "ContainerCreating", Some("c8"), Some("c6"), 8),
                waiting("new", "ContainerCreating", None, None, 0),
                waiting("first", "PodInitializing", Some("c0"), None, 0),
                waiting("bad", "ErrImagePull", None, None, 0),
                waiting("worse", "ImagePullBackOff", None, None, 0),
                ended("forgotten", "", 0),
            ],
        )],
    );
    for place in [
        "up/1.log",
        "up/3.log",
        "over/1.log",
        "again/5.log",
        "again/4.log",
        "made/6.log",
        "made/8.log",
        "new/0.log",
    ] {
        log(&site, &format!("ns_a_uid-a/{place}"));
    }
    for (what, expected) in INSTANCES {
        let reply = client.get(&format!("/containerLogs/ns/a/{what}")).await;
        match expected {
            Ok(place) => {
                assert_eq!(reply.body, format!("ns_a_uid-a/{place}\n"), "{what}");
                assert_eq!(reply.status, StatusCode::OK);
                assert_eq!(reply.headers["transfer-encoding"], "chunked");
            }
            Err(message) => {
                let bad = StatusCode::BAD_REQUEST;
                assert_eq!((reply.status, reply.body.as_str()), (bad, message));
            }
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_question() {
    let site = Site::start().await;
    let mut client = site.admin().await;
    let (bad, invalid, missing) = (
        StatusCode::BAD_REQUEST,
        StatusCode::UNPROCESSABLE_ENTITY,
        StatusCode::NOT_FOUND,
    );
    let table = [
        (
            "web/main?tailLines=x",
            bad,
            r#"{"message": "Unable to decode query."}"#,
        ),
        (
            "web/main?limitBytes=0",
            invalid,
            r#"{"message": "Invalid request."}"#,
        ),
        ("none/main", missing, "pod \"none\" does not exist"),
        (
            "web/none",
            missing,
            "container \"none\" not found in pod \"web\"",
        ),
        (
            "none/main?limitBytes=0",
            invalid,
            r#"{"message": "Invalid request."}"#,
        ),
        (
            "web/main?stream=Stdout",
            bad,
            "unable to return the given log stream: \"Stdout\". Please enable PodLogsQuerySplitStreams feature gate in kubelet",
        ),
    ];
    for (what, status, body) in table {
        let reply = client.get(&format!("/containerLogs/ns/{what}")).await;
        assert_eq!(
            (reply.status, reply.body.as_str()),
            (status, body),
            "{what}"
        );
    }
    let reply = client.get("/containerLogs/ns/web/main").await;
    assert_eq!(reply.status, bad, "its file is not there");
    assert!(
        reply
            .body
            .starts_with("unable to retrieve container logs for c1: "),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn names_do_not_lead_out_of_the_folder() {
    let site = Site::start().await;
    let mut client = site.admin().await;
    log(&site, "ns_web_uid-web/main/0.log");
    log(&site, "secret/0.log");
    fs::write(site.folder.path().join("0.log"), format!("{LINE} secret\n")).unwrap();
    for path in [
        "ns/web/..",
        "ns/web/../main",
        "ns/web/..%2f..",
        "ns/web/%2e%2e",
        "ns/../ns/web/main",
        "ns/web/main/../../secret",
        "..%2f..%2f/web/main",
        "ns/web/main%00",
        "ns/web/secret",
    ] {
        let reply = client.get(&format!("/containerLogs/{path}")).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
        assert!(!reply.body.contains("secret\n"), "{path}");
    }
    assert_eq!(
        client.get("/containerLogs/ns/web/main").await.status,
        StatusCode::OK
    );
}

/// A pod that was replaced by one of the same name: the newest that is wanted counts.
#[tokio::test]
async fn the_newest_of_a_name() {
    let site = Site::start().await;
    let mut client = site.admin().await;
    let make = |uid: &str, at, wanted: bool| {
        let mut pod = (*pod("a", vec![running("main", "c1", 0)])).clone();
        pod.uid = agent_core::PodUid::new(uid);
        pod.status.started_at = agent_core::Time(at);
        if !wanted {
            pod.manifest = None;
        }
        Arc::new(pod)
    };
    shows(
        &site,
        vec![
            make("u1", 1, true),
            make("u2", 2, true),
            make("u3", 3, false),
        ],
    );
    for uid in ["u1", "u2", "u3"] {
        log(&site, &format!("ns_a_{uid}/main/0.log"));
    }
    assert_eq!(
        client.get("/containerLogs/ns/a/main").await.body,
        "ns_a_u2/main/0.log\n"
    );
}

#[tokio::test]
async fn a_log_that_is_followed_ends_with_the_server() {
    let site = Site::start().await;
    let mut client = site.admin().await;
    log(&site, "ns_web_uid-web/main/0.log");
    let request =
        http::Request::get("/containerLogs/ns/web/main?follow=true").header("host", "node");
    let response = client
        .send(request.body(axum::body::Body::empty()).unwrap())
        .await;
    assert_eq!(
        response.status(),
        StatusCode::OK,
        "the answer begins before the log ends"
    );
    let ended = site.end();
    let (reply, ()) = tokio::join!(crate::testing::Reply::of(response), ended);
    assert_eq!(reply.body, "ns_web_uid-web/main/0.log\n");
}
