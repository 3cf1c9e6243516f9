#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::super::testing::Scene;
use super::hostname;

#[test]
fn names() {
    let long = "a".repeat(62) + "-b";
    for (spec, name) in [
        (json!({}), "web-node"),
        (json!({"hostNetwork": true}), ""),
        (json!({"hostname": "db"}), "db"),
        (json!({"hostname": "db", "subdomain": "sub"}), "db"),
        (
            json!({"hostname": "db", "subdomain": "sub", "setHostnameAsFQDN": true}),
            "db.sub.space.svc.cluster.local",
        ),
        (json!({"setHostnameAsFQDN": true}), "web-node"),
        (
            json!({"hostname": "db", "hostnameOverride": "other.name"}),
            "other.name",
        ),
        (json!({"hostnameOverride": long}), &long[..62]),
    ] {
        assert_eq!(
            hostname(&Scene::new(spec.clone()).input()).unwrap(),
            name,
            "{spec}"
        );
    }
}

#[test]
fn a_full_name_that_the_kernel_cannot_hold() {
    let spec = json!({"hostname": "a".repeat(60), "subdomain": "sub", "setHostnameAsFQDN": true});
    let error = Scene::error(hostname(&Scene::new(spec).input()));
    let text = format!(
        "failed to construct FQDN from pod hostname and cluster domain, FQDN {}.sub.space.svc.cluster.local \
         is too long (64 characters is the max, 88 characters requested)",
        "a".repeat(60)
    );
    assert_eq!(error, text);
}
