use std::fs;
use std::time::SystemTime;

use super::api::{Api, DUE, FRESH};
use super::place::{Place, identity, kept};

#[tokio::test]
async fn a_certificate_that_is_due_is_renewed_with_itself_under_running_clients() {
    let api = Api::start(&[DUE, FRESH]).await;
    let place = Place::new(&api);
    place.kubeconfig("bootstrap", "{token: t}");
    let (connection, _drain) = kept(place.settings(true)).await;
    let in_a_month = SystemTime::now() + std::time::Duration::from_secs(30 * 86400);
    let mut expiry = connection.expiry();
    expiry.wait_for(Option::is_some).await.unwrap();
    let first = identity(&connection).await;
    expiry
        .wait_for(|end| end.is_some_and(|end| end > in_a_month))
        .await
        .unwrap();
    let second = identity(&connection).await;
    assert!(second.starts_with("system:node:n1#"));
    assert_ne!(first, second, "new requests show the new certificate");
    assert_eq!(api.askers(), ["token:t", "system:node:n1"]);
    let links = fs::read_dir(place.file("pki")).unwrap();
    let updated = links
        .filter_map(|each| each.unwrap().file_name().into_string().ok())
        .any(|name| name.contains("updated"));
    assert!(!updated, "the switch is complete");
}

#[tokio::test]
async fn a_certificate_inside_the_kubeconfig_moves_to_the_folder_and_is_renewed_at_once() {
    let api = Api::start(&[FRESH]).await;
    let place = Place::new(&api);
    place.certified("kubeconfig", &api.pair("kubernetes-admin", -1, 300));
    let (connection, _drain) = kept(place.settings(true)).await;
    api.asked(1).await;
    assert_eq!(api.askers(), ["kubernetes-admin"]);
    let link = place.file("pki/kubelet-client-current.pem");
    let mut expiry = connection.expiry();
    let later = SystemTime::now() + std::time::Duration::from_secs(330 * 86400);
    expiry
        .wait_for(|end| end.is_some_and(|end| end > later))
        .await
        .unwrap();
    assert!(identity(&connection).await.starts_with("system:node:n1#"));
    assert!(link.is_symlink());
}

#[tokio::test]
async fn without_rotation_replaced_files_are_followed() {
    let api = Api::start(&[]).await;
    let place = Place::new(&api);
    let write = |(certificate, key): (String, String)| {
        fs::write(place.file("next"), format!("{certificate}{key}")).unwrap();
        fs::rename(place.file("next"), place.file("node.pem")).unwrap();
    };
    write(api.pair("before", -1, 300));
    place.kubeconfig(
        "kubeconfig",
        "{client-certificate: node.pem, client-key: node.pem}",
    );
    let (connection, _drain) = kept(place.settings(false)).await;
    assert!(identity(&connection).await.starts_with("before#"));
    let mut expiry = connection.expiry();
    expiry.mark_unchanged();
    // Half a change is no change.
    fs::write(place.file("node.pem"), "rubbish").unwrap();
    write(api.pair("after", -1, 200));
    expiry.changed().await.unwrap();
    assert!(identity(&connection).await.starts_with("after#"));
    assert!(api.requests().is_empty());
}
