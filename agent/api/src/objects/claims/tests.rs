#![allow(clippy::unwrap_used)]

use agent_core::FailKind;
use serde_json::{Value, json};

use super::*;
use crate::testing::FakeApi;

const CLAIMS: &str = "/api/v1/namespaces/shop/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";

fn pod() -> Pod {
    let metadata = json!({"name": "web", "namespace": "shop", "uid": "u-1"});
    serde_json::from_value(json!({"metadata": metadata})).unwrap()
}

fn claim(phase: &str, volume: &str) -> Value {
    json!({
        "metadata": {"name": "data", "uid": "c-1"},
        "spec": {"volumeName": volume}, "status": {"phase": phase},
    })
}

fn volume(claim: Option<&str>) -> Value {
    let mut volume = json!({"metadata": {"name": "pv-1"}, "spec": {"hostPath": {"path": "/x"}}});
    if let Some(uid) = claim {
        volume["spec"]["claimRef"] = json!({"uid": uid});
    }
    volume
}

async fn ask(api: &FakeApi, owned: bool) -> Result<Arc<PersistentVolume>, Fail> {
    Claims::default()
        .volume(&api.client(), &pod(), "data", owned)
        .await
}

#[tokio::test(start_paused = true)]
async fn a_bound_claim_gives_its_volume_and_is_not_asked_for_again() {
    let api = FakeApi::new();
    api.put(CLAIMS, claim("Bound", "pv-1"));
    api.put(VOLUMES, volume(Some("c-1")));
    let claims = Claims::default();
    for _ in 0..2 {
        let volume = claims
            .volume(&api.client(), &pod(), "data", false)
            .await
            .unwrap();
        assert_eq!(volume.metadata.name.as_deref(), Some("pv-1"));
    }
    assert_eq!(api.asked(&format!("{CLAIMS}/data")).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_bound_is_told_in_the_stock_words() {
    let deleting = json!({
        "metadata": {"name": "data", "uid": "c-1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"},
    });
    let other =
        "found PV object pv-1 but its pv.Spec.ClaimRef.UID c-2 does not point to claim.UID c-1";
    let table = [
        (
            claim("Pending", "pv-1"),
            volume(Some("c-1")),
            "PVC is not bound",
        ),
        (
            claim("Bound", ""),
            volume(Some("c-1")),
            "PVC has empty pvc.Spec.VolumeName",
        ),
        (deleting, volume(Some("c-1")), "PVC is being deleted"),
        (claim("Bound", "pv-1"), volume(Some("c-2")), other),
    ];
    for (claim, volume, text) in table {
        let api = FakeApi::new();
        api.put(CLAIMS, claim);
        api.put(VOLUMES, volume);
        let fail = ask(&api, false).await.unwrap_err();
        assert_eq!(fail.kind, FailKind::Retry);
        assert_eq!(
            fail.message,
            format!("error processing PVC shop/data: {text}")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_claim_may_appear() {
    let api = FakeApi::new();
    let fail = ask(&api, false).await.unwrap_err();
    assert_eq!(fail.kind, FailKind::Retry);
    let text = "failed to fetch PVC from API server: persistentvolumeclaims \"data\" not found";
    assert!(fail.message.ends_with(text), "{fail}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_made_for_a_pod_has_to_be_its_own() {
    let api = FakeApi::new();
    api.put(CLAIMS, claim("Bound", "pv-1"));
    api.put(VOLUMES, volume(Some("c-1")));
    let fail = ask(&api, true).await.unwrap_err();
    assert_eq!(
        fail.message,
        "PVC shop/data was not created for pod shop/web (pod is not owner)"
    );
    let mut owned = claim("Bound", "pv-1");
    owned["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u-1", "controller": true}
    ]);
    api.put(CLAIMS, owned);
    assert!(ask(&api, true).await.is_ok());
}
