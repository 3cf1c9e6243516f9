use futures::future::join_all;
use http::Request;

use super::api::Api;
use super::place::{Place, identity, kept};

#[tokio::test]
async fn calls_share_a_connection_and_a_watch_has_its_own() {
    let api = Api::start_with(&[], &[b"h2", b"http/1.1"]).await;
    let place = Place::new(&api);
    place.certified("kubeconfig", &api.pair("node", -1, 300));
    let (connection, _drain) = kept(place.settings(false)).await;
    identity(&connection).await;
    let first = api.connections();
    join_all((0..20).map(|_| identity(&connection))).await;
    assert_eq!(api.connections(), first, "no call has made another one");
    let watch = Request::get("/version?watch=true")
        .body(Vec::new())
        .unwrap();
    connection.client().request_text(watch).await.unwrap();
    assert_eq!(api.connections(), first + 1);
}

#[tokio::test]
async fn a_server_without_http2_is_spoken_to_all_the_same() {
    let api = Api::start_with(&[], &[b"http/1.1"]).await;
    let place = Place::new(&api);
    place.certified("kubeconfig", &api.pair("node", -1, 300));
    let (connection, _drain) = kept(place.settings(false)).await;
    join_all((0..5).map(|_| identity(&connection))).await;
    assert!(api.connections() > 1, "one for each call at a time");
}
