use std::fs;

use serde_json::json;

use super::api::{Api, FRESH, Verdict, asked};
use super::place::{Place, identity, kept, mode};
use crate::connection::{Connection, ConnectionError};

#[tokio::test]
async fn a_joining_node_gets_its_certificate_and_uses_it() {
    let api = Api::start(&[FRESH]).await;
    let place = Place::new(&api);
    place.kubeconfig("bootstrap", "{token: abcdef.secret}");
    let (connection, _drain) = kept(place.settings(true)).await;
    connection.credentialed().await;

    assert!(identity(&connection).await.starts_with("system:node:n1#"));
    assert_eq!(api.askers(), ["token:abcdef.secret"]);
    let request = &api.requests()[0];
    assert_eq!(
        request["spec"]["signerName"],
        "kubernetes.io/kube-apiserver-client-kubelet"
    );
    assert_eq!(
        request["spec"]["usages"],
        json!(["digital signature", "client auth"])
    );
    assert_eq!(request["metadata"]["generateName"], "csr-");
    let subject = format!("{:?}", asked(request).params.distinguished_name);
    assert!(
        subject.contains("system:nodes") && subject.contains("system:node:n1"),
        "{subject}"
    );
}

#[tokio::test]
async fn the_files_are_those_that_the_stock_kubelet_leaves() {
    let api = Api::start(&[FRESH]).await;
    let place = Place::new(&api);
    place.kubeconfig("bootstrap", "{token: abcdef.secret}");
    let (connection, drain) = kept(place.settings(true)).await;
    connection.credentialed().await;

    let link = place.file("pki/kubelet-client-current.pem");
    let target = fs::read_link(&link).unwrap();
    let name = target.file_name().unwrap().to_str().unwrap();
    // kubelet-client-2026-11-30-17-10-00.pem
    assert_eq!(name.len(), "kubelet-client-".len() + 19 + ".pem".len());
    assert!(target.is_absolute());
    assert_eq!(mode(&target), 0o600);
    let kubeconfig = fs::read_to_string(place.file("kubeconfig")).unwrap();
    assert_eq!(mode(&place.file("kubeconfig")), 0o600);
    assert!(kubeconfig.contains(link.to_str().unwrap()));
    assert!(
        !kubeconfig.contains("secret"),
        "the token stays where it was"
    );

    // The next start takes what is there and asks for nothing.
    drain.begin();
    let (again, _drain) = kept(place.settings(true)).await;
    assert!(identity(&again).await.starts_with("system:node:n1#"));
    assert_eq!(api.requests().len(), 1);
}

#[tokio::test]
async fn it_waits_for_the_approval() {
    let api = Api::start(&[Verdict::Later]).await;
    let place = Place::new(&api);
    place.kubeconfig("bootstrap", "{token: t}");
    let (connection, _drain) = kept(place.settings(true)).await;
    let watching = |seen: &Vec<String>| seen.iter().filter(|each| each.contains(" GET ")).count();
    // A list and a watch: now it waits.
    api.seen
        .subscribe()
        .wait_for(|seen| watching(seen) >= 2)
        .await
        .unwrap();
    assert!(connection.expiry().borrow().is_none());
    api.approve();
    connection.credentialed().await;
    assert_eq!(api.requests().len(), 1);
}

#[tokio::test]
async fn a_denied_request_is_made_again() {
    let api = Api::start(&[Verdict::Deny, FRESH]).await;
    let place = Place::new(&api);
    place.kubeconfig("bootstrap", "{token: t}");
    let (connection, _drain) = kept(place.settings(true)).await;
    connection.credentialed().await;
    assert_eq!(api.requests().len(), 2);
    assert!(identity(&connection).await.starts_with("system:node:n1#"));
}

#[tokio::test]
async fn an_expired_kubeconfig_is_replaced_even_without_rotation() {
    let api = Api::start(&[FRESH]).await;
    let place = Place::new(&api);
    place.certified("kubeconfig", &api.pair("system:node:n1", -20, -10));
    place.kubeconfig("bootstrap", "{token: t}");
    let (connection, _drain) = kept(place.settings(false)).await;
    connection.credentialed().await;
    assert!(identity(&connection).await.starts_with("system:node:n1#"));
    assert_eq!(api.askers(), ["token:t"]);
}

#[tokio::test]
async fn a_valid_kubeconfig_outranks_the_bootstrap_one() {
    let api = Api::start(&[]).await;
    let place = Place::new(&api);
    place.certified("kubeconfig", &api.pair("system:node:n1", -1, 300));
    place.kubeconfig("bootstrap", "{token: t}");
    let (connection, _drain) = kept(place.settings(false)).await;
    assert!(identity(&connection).await.starts_with("system:node:n1#"));
    assert!(api.requests().is_empty());
}

#[tokio::test]
async fn a_token_in_the_kubeconfig_is_enough() {
    let api = Api::start(&[]).await;
    let place = Place::new(&api);
    fs::write(place.file("token"), "of-a-file\n").unwrap();
    place.kubeconfig("kubeconfig", "{tokenFile: token}");
    let connection = Connection::open(place.settings(false)).await.unwrap();
    connection.credentialed().await;
    assert_eq!(identity(&connection).await, "token:of-a-file");
}

#[tokio::test]
async fn without_any_credential_it_says_what_is_missing() {
    let api = Api::start(&[]).await;
    let place = Place::new(&api);
    place.kubeconfig("kubeconfig", "{}");
    let error = Connection::open(place.settings(true)).await.unwrap_err();
    assert!(matches!(error, ConnectionError::NoCredential { .. }));
    assert!(error.to_string().contains("--bootstrap-kubeconfig"));
}
