use super::*;
use crate::testing::failure;
use agent_loops::ports::{ProjectedSource, Token};
use http::Method;

const TOKEN: &str = "/api/v1/namespaces/shop/serviceaccounts/cashier/token";

fn pod_with_token(uid: &str, seconds: i64) -> WantedPod {
    let token = json!({"audience": "vault", "expirationSeconds": seconds, "path": "token"});
    let sources = json!([{"serviceAccountToken": token}]);
    pod(
        uid,
        json!({"volumes": [{"name": "p", "projected": {"sources": sources}}]}),
    )
}

fn source() -> ProjectedSource {
    ProjectedSource {
        volume: "p".into(),
        index: 0,
    }
}

fn token(references: &References) -> &Token {
    references.tokens[&source()].as_ref().unwrap()
}

/// Gives a new token for each request.
fn give_tokens(node: &Node) {
    let mut count = 0;
    node.api.always(Method::POST, TOKEN, move |asked| {
        count += 1;
        let mut answer = asked.body.clone();
        answer["status"] = json!({
            "token": format!("token-{count}"), "expirationTimestamp": "2033-01-01T00:00:00Z",
        });
        (201, answer)
    });
}

#[tokio::test(start_paused = true)]
async fn a_token_is_bound_to_its_pod_and_renewed_at_four_fifths_of_its_life() {
    let node = Node::new();
    give_tokens(&node);
    let pod = pod_with_token("u-1", 3607);
    let begin = tokio::time::Instant::now();
    let references = node.references(&pod).await;
    assert_eq!(token(&references).0.as_ref(), "token-1");
    assert_eq!(format!("{:?}", token(&references)), "Token(..)");
    let spec = &node.api.asked(TOKEN)[0].body["spec"];
    assert_eq!(spec["audiences"], json!(["vault"]));
    assert_eq!(spec["expirationSeconds"], 3607);
    let bound = json!({"apiVersion": "v1", "kind": "Pod", "name": "pod-u-1", "uid": "u-1"});
    assert_eq!(spec["boundObjectRef"], bound);

    let due = references.refresh_at.unwrap();
    node.references(&pod).await;
    assert_eq!(node.api.asked(TOKEN).len(), 1, "it is kept");
    node.touched(&pod, 0).await;
    let age = begin.elapsed().as_secs_f64();
    assert!((2875.0..=2886.0).contains(&age), "{age}");
    let now = node.objects.clock.now();
    assert!(
        now.since(due) < Duration::from_millis(5),
        "refresh_at said when"
    );
    assert_eq!(token(&*node.references(&pod).await).0.as_ref(), "token-2");
}

#[tokio::test(start_paused = true)]
async fn a_long_lived_token_is_renewed_after_a_day() {
    let node = Node::new();
    give_tokens(&node);
    let pod = pod_with_token("1", 7 * 86_400);
    let begin = tokio::time::Instant::now();
    node.references(&pod).await;
    node.touched(&pod, 0).await;
    let age = begin.elapsed().as_secs_f64();
    assert!((86_390.0..=86_401.0).contains(&age), "{age}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_renewal_leaves_the_old_token_until_it_expires() {
    let node = Node::new();
    give_tokens(&node);
    let pod = pod_with_token("1", 1000);
    node.references(&pod).await;
    node.api.set_down(true);
    tokio::time::sleep(Duration::from_secs(900)).await;
    let references = node.references(&pod).await;
    assert_eq!(token(&references).0.as_ref(), "token-1");
    assert!(references.refresh_at.unwrap() > node.objects.clock.now());
    let tries = node.api.asked(TOKEN).len();
    assert!((4..20).contains(&tries), "{tries} tries");
    tokio::time::sleep(Duration::from_secs(101)).await;
    let references = node.references(&pod).await;
    let expired = references.tokens[&source()].as_ref().unwrap_err();
    assert_eq!(expired.kind, FailKind::Retry);
    assert!(
        expired
            .message
            .contains("expired and refresh failed: connection refused"),
        "{expired}"
    );
    node.api.set_down(false);
    node.touched(&pod, 0).await;
    assert_eq!(token(&*node.references(&pod).await).0.as_ref(), "token-2");
}

#[tokio::test(start_paused = true)]
async fn tokens_of_a_forgotten_pod_are_forgotten() {
    let node = Node::new();
    give_tokens(&node);
    let pod = pod_with_token("1", 1000);
    node.references(&pod).await;
    node.objects.forget(&pod.want.uid).await;
    tokio::time::sleep(Duration::from_secs(5000)).await;
    assert_eq!(node.api.asked(TOKEN).len(), 1);
    assert_eq!(token(&*node.references(&pod).await).0.as_ref(), "token-2");
}

#[tokio::test(start_paused = true)]
async fn an_account_that_is_missing_is_told() {
    let node = Node::new();
    let text = "serviceaccounts \"cashier\" not found";
    node.api
        .always(Method::POST, TOKEN, move |_| (404, failure(404, text)));
    let references = node.references(&pod_with_token("1", 1000)).await;
    let fail = references.tokens[&source()].as_ref().unwrap_err();
    assert_eq!(fail.message, format!("failed to fetch token: {text}"));
}

#[tokio::test(start_paused = true)]
async fn services_are_read_once_for_the_node_and_waited_for() {
    let node = Node::new();
    let web = json!({
        "metadata": {"name": "web"},
        "spec": {"clusterIP": "10.0.0.7", "ports": [{"port": 80, "protocol": "TCP"}]},
    });
    node.api.put(SERVICES, web);
    assert!(
        node.api.asked(ALL_SERVICES).is_empty(),
        "no pod, no question"
    );
    let first = pod("1", json!({}));
    let references = node.references(&first).await;
    let host = ("WEB_SERVICE_HOST".to_owned(), "10.0.0.7".to_owned());
    assert!(
        references.services.contains(&host),
        "{:?}",
        references.services
    );
    let second = pod("2", json!({}));
    node.references(&second).await;
    for pod in [&first, &second] {
        node.objects.forget(&pod.want.uid).await;
    }
    node.quiet().await;
    node.references(&pod("3", json!({}))).await;
    assert_eq!(node.lists(ALL_SERVICES), 1);
}

#[tokio::test(start_paused = true)]
async fn without_the_services_nothing_is_told_and_their_arrival_is_news() {
    let node = Node::new();
    node.api.set_down(true);
    let waiting = pod("1", json!({}));
    let fail = node.objects.references(&waiting).await.unwrap_err();
    assert_eq!(fail.kind, FailKind::Retry);
    let text = "services have not yet been read at least once, cannot construct envvars";
    assert!(fail.message.starts_with(text), "{fail}");
    node.api.set_down(false);
    node.touched(&waiting, 0).await;
    assert!(node.references(&waiting).await.services.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_static_pod_asks_nothing_and_waits_for_nothing() {
    let node = Node::new();
    node.api.set_down(true);
    let mut fixed = pod("1", json!({}));
    Arc::make_mut(&mut fixed.want).is_static = true;
    assert!(node.references(&fixed).await.services.is_empty());
    node.quiet().await;
    assert!(node.api.asked(ALL_SERVICES).is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_runtime_class_gives_the_handler() {
    const CLASSES: &str = "/apis/node.k8s.io/v1/runtimeclasses";
    let node = Node::new();
    let pod = pod("1", json!({"runtimeClassName": "nvidia"}));
    let handler = node.references(&pod).await.runtime_handler.clone().unwrap();
    assert_eq!(
        handler.unwrap_err().message,
        "runtimeclass.node.k8s.io \"nvidia\" not found"
    );
    node.quiet().await;
    let class = json!({"metadata": {"name": "nvidia"}, "handler": "nvidia-cdi"});
    node.api.put(CLASSES, class);
    node.touched(&pod, 0).await;
    let handler = node.references(&pod).await.runtime_handler.clone().unwrap();
    assert_eq!(handler.unwrap(), "nvidia-cdi");
}
