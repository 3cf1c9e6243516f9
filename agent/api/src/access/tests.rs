#![allow(clippy::unwrap_used)]

use agent_core::FailKind;
use http::Method;
use serde_json::json;

use super::*;
use crate::testing::{FakeApi, failure};

const TOKENS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const PERMISSIONS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

fn access(api: &FakeApi) -> ApiAccess {
    let settings = AccessSettings {
        authenticated: Duration::from_secs(120),
        authorized: Duration::from_secs(300),
        unauthorized: Duration::from_secs(30),
    };
    ApiAccess::new(api.client(), "node-1", settings)
}

/// A server that knows the token `good` and allows `get` on `metrics`.
fn server() -> FakeApi {
    let api = FakeApi::new();
    api.always(Method::POST, TOKENS, |asked| {
        let mut answer = asked.body.clone();
        answer["status"] = if asked.body["spec"]["token"] == "good" {
            let user = json!({
                "username": "prometheus", "uid": "7", "groups": ["scrapers"],
                "extra": {"example.com/x": ["y"]},
            });
            json!({"authenticated": true, "user": user})
        } else {
            json!({"authenticated": false})
        };
        (201, answer)
    });
    api.always(Method::POST, PERMISSIONS, |asked| {
        let mut answer = asked.body.clone();
        let what = &asked.body["spec"]["resourceAttributes"];
        let allowed = what["verb"] == "get" && what["subresource"] == "metrics";
        answer["status"] = json!({"allowed": allowed});
        (201, answer)
    });
    api
}

fn metrics(verb: &'static str) -> AccessAsk {
    AccessAsk {
        verb,
        subresource: "metrics",
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_reviewed_once_while_its_answer_is_kept() {
    let api = server();
    let access = access(&api);
    let who = access.authenticate("good").await.unwrap().unwrap();
    assert_eq!((who.name.as_str(), who.uid.as_str()), ("prometheus", "7"));
    assert_eq!(who.groups, ["scrapers"]);
    assert_eq!(
        who.extra,
        [("example.com/x".to_owned(), vec!["y".to_owned()])]
    );
    tokio::time::sleep(Duration::from_secs(119)).await;
    access.authenticate("good").await.unwrap();
    assert_eq!(api.asked(TOKENS).len(), 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    access.authenticate("good").await.unwrap();
    assert_eq!(api.asked(TOKENS).len(), 2);
    assert_eq!(access.authenticate("bad").await.unwrap(), None);
    assert_eq!(access.authenticate("bad").await.unwrap(), None);
    assert_eq!(api.asked(TOKENS).len(), 3, "a no is kept, too");
    assert!(!format!("{access:?}").contains("good"));
}

#[tokio::test(start_paused = true)]
async fn an_erroneous_review_is_a_no_that_is_not_kept() {
    let api = FakeApi::new();
    api.always(Method::POST, TOKENS, |asked| {
        let mut answer = asked.body.clone();
        answer["status"] = json!({"authenticated": false, "error": "invalid bearer token"});
        (201, answer)
    });
    let access = access(&api);
    for _ in 0..2 {
        assert_eq!(access.authenticate("bad").await.unwrap(), None);
    }
    assert_eq!(api.asked(TOKENS).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_same_question_at_the_same_time_is_one_request() {
    let api = server();
    let access = access(&api);
    let all = (0..20).map(|_| access.authenticate("good"));
    let answers = futures::future::join_all(all).await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.as_ref().unwrap().is_some())
    );
    assert_eq!(api.asked(TOKENS).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn yes_and_no_are_kept_for_their_own_time() {
    let api = server();
    let access = access(&api);
    let who = access.authenticate("good").await.unwrap().unwrap();
    assert!(access.authorize(&who, &metrics("get")).await.unwrap());
    assert!(!access.authorize(&who, &metrics("create")).await.unwrap());
    let spec = &api.asked(PERMISSIONS)[0].body["spec"];
    assert_eq!(spec["user"], "prometheus");
    assert_eq!(spec["groups"], json!(["scrapers"]));
    let attributes = &spec["resourceAttributes"];
    assert_eq!(attributes["resource"], "nodes");
    assert_eq!(attributes["name"], "node-1");
    assert_eq!(attributes["version"], "v1");
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert!(access.authorize(&who, &metrics("get")).await.unwrap());
    assert_eq!(api.asked(PERMISSIONS).len(), 2, "the yes is still kept");
    assert!(!access.authorize(&who, &metrics("create")).await.unwrap());
    assert_eq!(api.asked(PERMISSIONS).len(), 3, "the no is over");
    let other = Identity {
        name: "other".into(),
        ..Identity::default()
    };
    access.authorize(&other, &metrics("get")).await.unwrap();
    assert_eq!(
        api.asked(PERMISSIONS).len(),
        4,
        "answers are for one caller"
    );
}

#[tokio::test(start_paused = true)]
async fn failures_are_tried_again_and_never_kept() {
    let api = server();
    let access = access(&api);
    api.once(
        Method::POST,
        TOKENS,
        500,
        failure(500, "etcd has no leader"),
    );
    assert!(access.authenticate("good").await.unwrap().is_some());
    assert_eq!(api.asked(TOKENS).len(), 2);

    api.set_down(true);
    let fail = access.authenticate("other").await.unwrap_err();
    assert_eq!(fail.kind, FailKind::Retry);
    assert!(!fail.message.contains("other"), "{fail}");
    api.set_down(false);
    assert_eq!(access.authenticate("other").await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_not_tried_again() {
    let api = FakeApi::new();
    api.always(Method::POST, TOKENS, |_| (403, failure(403, "not you")));
    let fail = access(&api).authenticate("good").await.unwrap_err();
    assert!(fail.message.ends_with("not you"), "{fail}");
    assert_eq!(api.asked(TOKENS).len(), 1);
}
