//! Pods for the tests of the keyring.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use agent_core::{PodName, PodUid, PodWant, RestartPolicy};
use agent_loops::ports::WantedPod;
use serde_json::{Value, json};

/// A pod with this spec.
pub(super) fn pod(spec: Value) -> WantedPod {
    let mut spec = spec;
    spec["containers"] = json!([]);
    let manifest = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
    WantedPod {
        want: Arc::new(PodWant {
            uid: PodUid::new("uid-1"),
            name: PodName::new("space", "web"),
            is_static: false,
            host_network: false,
            restart: RestartPolicy::Always,
            grace: Duration::ZERO,
            active_deadline: None,
            init: Vec::new(),
            containers: Vec::new(),
            ephemeral: Vec::new(),
            deletion: None,
            over: None,
            started_at: None,
            restarts: Default::default(),
            needs: Default::default(),
        }),
        manifest: Arc::new(manifest),
    }
}
