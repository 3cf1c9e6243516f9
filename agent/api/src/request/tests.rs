#![allow(clippy::unwrap_used)]

use http::Method;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::json;

use super::*;
use crate::testing::{FakeApi, failure};

const PATH: &str = "/api/v1/namespaces/shop/secrets/s";

async fn ask(api: &FakeApi) -> RequestFailure {
    let secrets: Api<Secret> = Api::namespaced(api.client(), "shop");
    within(secrets.get("s")).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_is_not_shown() {
    let api = FakeApi::new();
    let secret = json!({"metadata": {"name": "s"}, "data": {"key": "hunter2 is no base64"}});
    api.once(Method::GET, PATH, 200, secret);
    let failure = ask(&api).await;
    assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
    assert!(failure.is_passing());
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_is_kept_with_its_status() {
    let api = FakeApi::new();
    api.once(Method::GET, PATH, 403, failure(403, "not you"));
    let refused = ask(&api).await;
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (Some(403), "not you")
    );
    assert!(!refused.is_passing() && !refused.is_missing());
    api.once(Method::GET, PATH, 503, failure(503, "later"));
    assert!(ask(&api).await.is_passing());
    assert!(ask(&api).await.is_missing());
}

#[tokio::test(start_paused = true)]
async fn no_connection_and_no_answer_are_failures_in_time() {
    let api = FakeApi::new();
    api.set_down(true);
    let down = ask(&api).await;
    assert_eq!(
        (down.code, down.message.as_str()),
        (None, "connection refused")
    );
    let never = within(std::future::pending::<kube::Result<()>>()).await;
    assert!(
        never
            .unwrap_err()
            .message
            .contains("did not answer within 5 s")
    );
}
