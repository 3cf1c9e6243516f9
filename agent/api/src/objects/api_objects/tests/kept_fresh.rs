use super::*;
use crate::testing::failure;
use http::Method;

#[tokio::test(start_paused = true)]
async fn what_was_known_serves_while_the_api_server_is_away() {
    let node = Node::new();
    node.api.put(SECRETS, secret("s", "one"));
    let known = pod_with_secret("1", "s");
    node.references(&known).await;
    node.quiet().await;
    node.api.set_down(true);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(value(&*node.references(&known).await, "s"), "one");
    assert!(!node.is_touched(&known, 0), "nobody is disturbed");

    let fresh = pod_with_secret("2", "t");
    let references = node.references(&fresh).await;
    let unread = references.secrets["t"].as_ref().unwrap_err();
    assert_eq!(unread.kind, FailKind::Retry);
    assert!(unread.message.contains("connection refused"), "{unread}");

    node.api.put(SECRETS, secret("t", "late"));
    node.api.put(SECRETS, secret("s", "two"));
    node.api.set_down(false);
    node.touched(&fresh, 0).await;
    assert_eq!(value(&*node.references(&fresh).await, "t"), "late");
    node.touched(&known, 0).await;
    assert_eq!(value(&*node.references(&known).await, "s"), "two");
}

#[tokio::test(start_paused = true)]
async fn an_outage_without_changes_touches_nobody() {
    let node = Node::new();
    node.api.put(SECRETS, secret("s", "one"));
    let pod = pod_with_secret("1", "s");
    node.references(&pod).await;
    node.quiet().await;
    node.api.set_down(true);
    tokio::time::sleep(Duration::from_secs(60)).await;
    // The watch cannot go on where it was: everything is listed again.
    let expired = json!({"type": "ERROR", "object": failure(410, "too old resource version")});
    node.api.once(Method::GET, SECRETS, 200, expired);
    node.api.set_down(false);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(node.lists(SECRETS), 2);
    assert!(!node.is_touched(&pod, 0));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_at_first_is_tried_again_at_once() {
    let node = Node::new();
    node.api.put(SECRETS, secret("s", "one"));
    let no =
        "secrets \"s\" is forbidden: no relationship found between node 'node-1' and this object";
    for _ in 0..3 {
        node.api.once(Method::GET, SECRETS, 403, failure(403, no));
    }
    let begin = tokio::time::Instant::now();
    let references = node.references(&pod_with_secret("1", "s")).await;
    assert_eq!(value(&references, "s"), "one");
    assert!(
        begin.elapsed() < Duration::from_secs(1),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_lasting_refusal_is_told_and_its_end_is_news() {
    let node = Node::new();
    node.api.put(SECRETS, secret("s", "one"));
    for _ in 0..8 {
        node.api.once(
            Method::GET,
            SECRETS,
            403,
            failure(403, "secrets \"s\" is forbidden"),
        );
    }
    let pod = pod_with_secret("1", "s");
    let references = node.references(&pod).await;
    let refused = references.secrets["s"].as_ref().unwrap_err();
    assert_eq!(refused.kind, FailKind::Retry);
    assert_eq!(
        refused.message,
        "failed to sync secret cache: secrets \"s\" is forbidden"
    );
    let begin = tokio::time::Instant::now();
    node.references(&pod).await;
    assert!(begin.elapsed().is_zero(), "nobody waits twice");
    node.touched(&pod, 0).await;
    assert_eq!(value(&*node.references(&pod).await, "s"), "one");
}

#[tokio::test(start_paused = true)]
async fn an_immutable_object_is_read_once_and_not_watched() {
    let node = Node::new();
    let mut object = secret("s", "one");
    object["immutable"] = json!(true);
    node.api.put(SECRETS, object);
    let pod = pod_with_secret("1", "s");
    node.references(&pod).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(value(&*node.references(&pod).await, "s"), "one");
    assert_eq!(node.api.asked(SECRETS).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_watches_every_question_reads() {
    let node = Node::with("Get");
    node.api.put(SECRETS, secret("s", "one"));
    let pod = pod_with_secret("1", "s");
    let references = node.references(&pod).await;
    assert_eq!(value(&references, "s"), "one");
    assert!(
        references.refresh_at.is_some(),
        "nobody else says when to ask again"
    );
    node.api.put(SECRETS, secret("s", "two"));
    assert_eq!(value(&*node.references(&pod).await, "s"), "two");
    assert_eq!(node.api.asked(&format!("{SECRETS}/s")).len(), 2);
    assert!(node.api.asked(SECRETS).is_empty());
}
