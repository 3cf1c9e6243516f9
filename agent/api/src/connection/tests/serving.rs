use std::net::IpAddr;
use std::time::SystemTime;

use serde_json::json;
use tokio::sync::watch;

use super::api::{Api, FRESH, asked};
use super::place::{Place, kept};
use crate::connection::{NodeAddress, ServingCertificate, ServingNames, ServingSettings};

fn names(addresses: &[(&str, &str)]) -> ServingNames {
    let list: Vec<_> = addresses
        .iter()
        .map(|(kind, address)| NodeAddress {
            kind: (*kind).to_owned(),
            address: (*address).to_owned(),
        })
        .collect();
    ServingNames::of(&list)
}

#[tokio::test]
async fn the_cluster_signs_it_for_the_addresses_of_the_node() {
    let api = Api::start(&[FRESH, FRESH]).await;
    let place = Place::new(&api);
    place.certified("kubeconfig", &api.pair("system:node:n1", -1, 300));
    let (connection, drain) = kept(place.settings(false)).await;
    let serving = ServingCertificate::open(&ServingSettings {
        cert_dir: place.file("pki"),
        node: "n1".to_owned(),
        bootstrap: true,
        files: None,
    })
    .unwrap();
    let mut expiry = serving.expiry();
    // No address: nothing to ask for.
    let (sender, receiver) = watch::channel(names(&[("Hostname", "n1")]));
    let kept = serving.maintain(Some(connection), receiver, drain.guard());
    base_daemon::spawn("serving", kept);
    sender.send_replace(names(&[("Hostname", "n1"), ("InternalIP", "10.0.0.7")]));
    expiry.wait_for(Option::is_some).await.unwrap();

    let request = &api.requests()[0];
    assert_eq!(
        request["spec"]["signerName"],
        "kubernetes.io/kubelet-serving"
    );
    assert_eq!(
        request["spec"]["usages"],
        json!(["digital signature", "server auth"])
    );
    let alternatives = asked(request).params.subject_alt_names;
    let address: IpAddr = "10.0.0.7".parse().unwrap();
    assert_eq!(
        alternatives,
        [
            rcgen::SanType::DnsName("n1".try_into().unwrap()),
            rcgen::SanType::IpAddress(address)
        ]
    );
    assert!(place.file("pki/kubelet-server-current.pem").is_symlink());
    assert!(expiry.borrow().is_some_and(|end| end > SystemTime::now()));

    // Fewer addresses: the certificate still covers them. More: a new one.
    sender.send_replace(names(&[("InternalIP", "10.0.0.7")]));
    sender.send_replace(names(&[
        ("InternalIP", "10.0.0.7"),
        ("ExternalIP", "192.0.2.7"),
    ]));
    api.asked(2).await;
    assert_eq!(api.askers(), ["system:node:n1", "system:node:n1"]);
}
