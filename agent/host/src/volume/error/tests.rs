#![allow(clippy::unwrap_used, clippy::expect_used)]

use agent_core::{Fail, FailKind};
use serde_json::{Value, json};

use super::super::make_all;
use super::super::testing::{Bed, pod};
use crate::testing::with_own_mounts;

fn fail(volumes: Value) -> Fail {
    let bed = Bed::new();
    let pod = pod(json!({"volumes": volumes}));
    make_all(bed.making(&pod)).unwrap_err().fail("FailedMount")
}

/// Kubernetes 1.37: what events of the stock kubelet say.
#[test]
fn the_pod_says_what_is_missing() {
    let secret = json!({"name": "b", "secret": {"secretName": "y"}});
    let claim = json!({"name": "a", "persistentVolumeClaim": {"claimName": "c"}});
    let of_secret = "MountVolume.SetUp failed for volume \"b\" : secret \"y\" not found";
    let of_claim = "error processing PVC shop/c: failed to fetch PVC from API server: \
        persistentvolumeclaims \"c\" not found";
    let of_pod = "Unable to attach or mount volumes: unmounted volumes=";
    for (volumes, expected) in [
        (json!([secret]), of_secret.to_owned()),
        (
            json!([claim]),
            format!(
                "{of_pod}[a], unattached volumes=[], failed to process volumes=[a]: {of_claim}"
            ),
        ),
        (
            json!([secret, claim]),
            format!(
                "{of_pod}[a b], unattached volumes=[], failed to process volumes=[a]: \
                 {of_secret}; {of_claim}"
            ),
        ),
    ] {
        assert_eq!(fail(volumes), Fail::retry("FailedMount", expected));
    }
}

#[test]
fn as_long_as_one_may_come_it_is_tried_again() {
    with_own_mounts("as_long_as_one_may_come_it_is_tried_again", || {
        let (csi, secret) = (
            json!({"name": "a", "csi": {"driver": "d"}}),
            json!({"name": "b", "secret": {"secretName": "y"}}),
        );
        assert_eq!(fail(json!([csi])).kind, FailKind::Permanent);
        assert_eq!(fail(json!([csi, secret])).kind, FailKind::Retry);
    });
}

#[test]
fn what_no_container_uses_is_not_looked_at() {
    let bed = Bed::new();
    let mut pod = pod(json!({"volumes": [{"name": "v", "secret": {"secretName": "y"}}]}));
    pod.spec.as_mut().unwrap().containers[0].volume_mounts = None;
    assert!(bed.make(&pod).unwrap().is_empty());
    // An ephemeral container is one of the pod's.
    let debug = json!([{"name": "d", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]);
    pod.spec.as_mut().unwrap().ephemeral_containers = serde_json::from_value(debug).unwrap();
    bed.make(&pod).unwrap_err();
}
