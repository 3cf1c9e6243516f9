#![allow(clippy::unwrap_used)]

use proto::cri::LinuxContainerResources;
use serde_json::{Value, json};

use super::super::testing::Scene;
use super::{of_pod, overhead};

const MI: i64 = 1 << 20;

/// CPU shares, CPU quota, memory limit.
fn figures(resources: &LinuxContainerResources) -> (i64, i64, i64) {
    (
        resources.cpu_shares,
        resources.cpu_quota,
        resources.memory_limit_in_bytes,
    )
}

fn with(cpu: &str, memory: &str) -> Value {
    json!({"limits": {"cpu": cpu, "memory": memory}})
}

#[test]
fn containers_side_by_side_at_their_peak() {
    for (spec, shares, quota, memory) in [
        (json!({}), 2, 0, 0),
        (
            json!({"containers": [
                {"name": "a", "resources": with("1", "100Mi")},
                {"name": "b", "resources": {"requests": {"cpu": "500m"}}},
            ]}),
            1536,
            100_000,
            100 * MI,
        ),
        // A plain init container beside the sidecar before it is more than the main one with it.
        (
            json!({
                "initContainers": [
                    {"name": "side", "restartPolicy": "Always", "resources": with("1", "50Mi")},
                    {"name": "plain", "resources": with("3", "10Mi")},
                ],
                "containers": [{"resources": with("1", "100Mi")}],
            }),
            4096,
            400_000,
            150 * MI,
        ),
        (
            json!({
                "resources": {"requests": {"cpu": "2"}, "limits": {"memory": "1Gi"}},
                "containers": [{"resources": with("1", "100Mi")}],
            }),
            2048,
            100_000,
            1024 * MI,
        ),
    ] {
        let scene = Scene::new(spec.clone());
        let figures = figures(&of_pod(&scene.input()).unwrap());
        assert_eq!(figures, (shares, quota, memory), "{spec}");
    }
}

#[test]
fn overhead_is_guaranteed() {
    let scene = Scene::new(json!({"overhead": {"cpu": "250m", "memory": "120Mi"}}));
    let built = overhead(&scene.input()).unwrap();
    assert_eq!(figures(&built), (256, 25_000, 120 * MI));
    let scene = Scene::new(json!({}));
    assert_eq!(
        overhead(&scene.input()).unwrap(),
        LinuxContainerResources::default()
    );
}
