#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn names(spec: serde_json::Value) -> Names {
    let metadata = json!({"name": "web", "namespace": "shop"});
    let mut all = json!({"containers": []});
    for (key, value) in spec.as_object().unwrap() {
        all[key] = value.clone();
    }
    Names::of(&serde_json::from_value(json!({"metadata": metadata, "spec": all})).unwrap())
}

#[test]
fn every_place_that_can_name_a_secret_or_config_map_is_read() {
    let variables = |prefix: &str| {
        json!({
            "name": prefix, "image": "x:1",
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": format!("{prefix}-s1"), "key": "k"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": format!("{prefix}-c1"), "key": "k"}}},
                {"name": "C", "value": "plain"},
            ],
            "envFrom": [
                {"secretRef": {"name": format!("{prefix}-s2")}},
                {"configMapRef": {"name": format!("{prefix}-c2")}},
            ],
        })
    };
    let names = names(json!({
        "containers": [variables("main")],
        "initContainers": [variables("init")],
        "ephemeralContainers": [variables("debug")],
        "imagePullSecrets": [{"name": "pull"}, {"name": ""}],
        "volumes": [
            {"name": "a", "secret": {"secretName": "volume-s"}},
            {"name": "b", "configMap": {"name": "volume-c"}},
            {"name": "c", "projected": {"sources": [
                {"secret": {"name": "projected-s"}}, {"configMap": {"name": "projected-c"}},
            ]}},
            {"name": "d", "csi": {"driver": "x", "nodePublishSecretRef": {"name": "csi-s"}}},
            {"name": "e", "azureFile": {"secretName": "azure-s", "shareName": "x"}},
            {"name": "f", "iscsi": {"targetPortal": "x", "iqn": "x", "lun": 1, "secretRef": {"name": "iscsi-s"}}},
            {"name": "g", "emptyDir": {}},
        ],
    }));
    let secrets: Vec<_> = names.secrets.iter().map(String::as_str).collect();
    assert_eq!(
        secrets,
        [
            "azure-s",
            "csi-s",
            "debug-s1",
            "debug-s2",
            "init-s1",
            "init-s2",
            "iscsi-s",
            "main-s1",
            "main-s2",
            "projected-s",
            "pull",
            "volume-s"
        ]
    );
    let config_maps: Vec<_> = names.config_maps.iter().map(String::as_str).collect();
    assert_eq!(
        config_maps,
        [
            "debug-c1",
            "debug-c2",
            "init-c1",
            "init-c2",
            "main-c1",
            "main-c2",
            "projected-c",
            "volume-c"
        ]
    );
}

#[test]
fn projected_sources_are_named_by_their_place() {
    let names = names(json!({
        "serviceAccountName": "cashier",
        "volumes": [{"name": "p", "projected": {"sources": [
            {"downwardAPI": {"items": []}},
            {"serviceAccountToken": {"path": "t", "expirationSeconds": 3607, "audience": ""}},
            {"clusterTrustBundle": {"path": "b", "name": "roots"}},
            {"podCertificate": {"keyType": "ED25519", "signerName": "example.com/x"}},
        ]}}],
    }));
    let at = |index| ProjectedSource {
        volume: "p".into(),
        index,
    };
    let token = &names.tokens[&at(1)];
    assert_eq!(
        (token.account.as_str(), &token.audience),
        ("cashier", &None)
    );
    assert_eq!(token.expiration_seconds, Some(3607));
    assert!(names.trust.contains_key(&at(2)));
    assert_eq!(names.certificates[&at(3)].key_type, "ED25519");
}

#[test]
fn claims_of_ephemeral_volumes_are_named_after_the_pod() {
    let names = names(json!({"volumes": [
        {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "b", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    ]}));
    let claims: Vec<_> = names.claims.into_iter().collect();
    assert_eq!(claims, [("data".into(), false), ("web-b".into(), true)]);
}

#[test]
fn what_the_api_would_have_filled_in_has_its_default() {
    let names = names(json!({"runtimeClassName": ""}));
    assert_eq!(names.service_account, "default");
    assert!(names.service_links);
    assert_eq!(names.runtime_class, None);
}
