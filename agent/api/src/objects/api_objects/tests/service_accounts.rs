use super::*;
use agent_loops::ports::ServiceAccounts;
use http::Method;

const ACCOUNTS: &str = "/api/v1/namespaces/shop/serviceaccounts";
const TOKEN: &str = "/api/v1/namespaces/shop/serviceaccounts/cashier/token";

fn node() -> Node {
    let node = Node::new();
    let metadata = json!({"name": "cashier", "uid": "sa-1", "annotations": {"role": "puller"}});
    node.api.put(ACCOUNTS, json!({"metadata": metadata}));
    let mut count = 0;
    node.api.always(Method::POST, TOKEN, move |asked| {
        count += 1;
        let mut answer = asked.body.clone();
        answer["spec"]["expirationSeconds"] = json!(3600);
        answer["status"] = json!({
            "token": format!("token-{count}"), "expirationTimestamp": "2033-01-01T00:00:00Z",
        });
        (201, answer)
    });
    node
}

async fn token(node: &Node, pod: &WantedPod) -> Result<String, Fail> {
    let account = node.objects.account("shop", "cashier").await?;
    let token = node.objects.token("cashier", &account, pod, "registry");
    Ok(token.await?.0.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_token_for_a_provider_is_bound_to_pod_and_account_and_kept() {
    let node = node();
    let pod = pod("u-1", json!({}));
    let account = node.objects.account("shop", "cashier").await.unwrap();
    assert_eq!(
        (&*account.uid, &*account.annotations["role"]),
        ("sa-1", "puller")
    );
    assert_eq!(token(&node, &pod).await.unwrap(), "token-1");
    let asked = &node.api.asked(TOKEN)[0].body;
    assert_eq!(asked["metadata"]["uid"], "sa-1");
    assert_eq!(asked["spec"]["audiences"], json!(["registry"]));
    assert_eq!(asked["spec"]["expirationSeconds"], Value::Null);
    let bound = json!({"apiVersion": "v1", "kind": "Pod", "name": "pod-u-1", "uid": "u-1"});
    assert_eq!(asked["spec"]["boundObjectRef"], bound);

    tokio::time::sleep(Duration::from_secs(2800)).await;
    assert_eq!(token(&node, &pod).await.unwrap(), "token-1");
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(token(&node, &pod).await.unwrap(), "token-2");

    let metadata = json!({"name": "cashier", "uid": "sa-2"});
    node.api.put(ACCOUNTS, json!({"metadata": metadata}));
    assert_eq!(
        token(&node, &pod).await.unwrap(),
        "token-3",
        "another account"
    );
}

#[tokio::test(start_paused = true)]
async fn without_an_api_server_a_token_serves_until_it_expires() {
    let node = node();
    let pod = pod("u-1", json!({}));
    let account = node.objects.account("shop", "cashier").await.unwrap();
    token(&node, &pod).await.unwrap();
    node.api.set_down(true);
    let again = async || {
        node.objects
            .token("cashier", &account, &pod, "registry")
            .await
    };
    tokio::time::sleep(Duration::from_secs(3000)).await;
    assert_eq!(again().await.unwrap().0.as_ref(), "token-1");
    tokio::time::sleep(Duration::from_secs(700)).await;
    assert_eq!(again().await.unwrap_err().kind, FailKind::Retry);
}
