#![allow(clippy::unwrap_used)]

mod bundles;
mod kept_fresh;
mod requests;
mod service_accounts;

use std::sync::Arc;
use std::time::Duration;

use agent_core::{Fail, FailKind, PodName, PodUid, PodWant, RestartPolicy, Time};
use agent_loops::Clock;
use agent_loops::ports::{ObjectChanges, Objects, References, WantedPod};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::{ApiObjects, ObjectSettings};
use crate::testing::FakeApi;

const SECRETS: &str = "/api/v1/namespaces/shop/secrets";
const CONFIG_MAPS: &str = "/api/v1/namespaces/shop/configmaps";
const SERVICES: &str = "/api/v1/namespaces/shop/services";
const ALL_SERVICES: &str = "/api/v1/services";

/// A node's objects with the API server they come from.
struct Node {
    api: FakeApi,
    objects: ApiObjects,
}

impl Node {
    fn new() -> Self {
        Self::with("Watch")
    }

    fn with(change_detection: &str) -> Self {
        let api = FakeApi::new();
        let settings = ObjectSettings::new("node-1", change_detection);
        let clock = Clock::showing(Time::default().plus(Duration::from_secs(1_800_000_000)));
        let objects = ApiObjects::new(api.client(), settings, clock);
        Self { api, objects }
    }

    async fn references(&self, pod: &WantedPod) -> Arc<References> {
        self.objects.references(pod).await.unwrap()
    }

    /// Lists at a path: what it costs to know an object.
    fn lists(&self, path: &str) -> usize {
        let asked = self.api.asked(path);
        asked.iter().filter(|asked| !asked.is_watch()).count()
    }

    /// Waits until the pod is touched after number `since`; gives the new number.
    async fn touched(&self, pod: &WantedPod, since: u64) -> u64 {
        let mut changes = self.objects.changes();
        let uid = &pod.want.uid;
        let touched = |changes: &ObjectChanges| changes.after(since).contains(uid);
        changes.wait_for(touched).await.unwrap().generation
    }

    fn is_touched(&self, pod: &WantedPod, since: u64) -> bool {
        let changes = self.objects.changes();
        let after = changes.borrow().after(since);
        after.contains(&pod.want.uid)
    }

    /// Lets everything happen that can without another request.
    async fn quiet(&self) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A pod of namespace `shop` with a spec.
fn pod(uid: &str, spec: Value) -> WantedPod {
    let mut all = json!({
        "containers": [{"name": "main", "image": "x:1"}], "enableServiceLinks": true,
        "serviceAccountName": "cashier",
    });
    for (key, value) in spec.as_object().unwrap() {
        all[key] = value.clone();
    }
    let metadata = json!({"name": format!("pod-{uid}"), "namespace": "shop", "uid": uid});
    let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": all})).unwrap();
    let want = PodWant {
        uid: PodUid::new(uid),
        name: PodName::new("shop", format!("pod-{uid}")),
        is_static: false,
        host_network: false,
        restart: RestartPolicy::Always,
        grace: Duration::from_secs(30),
        active_deadline: None,
        init: Vec::new(),
        containers: Vec::new(),
        ephemeral: Vec::new(),
        deletion: None,
        over: None,
        started_at: None,
        restarts: Default::default(),
        needs: Default::default(),
    };
    WantedPod {
        want: Arc::new(want),
        manifest: Arc::new(pod),
    }
}

/// A pod with one secret volume.
fn pod_with_secret(uid: &str, secret: &str) -> WantedPod {
    pod(
        uid,
        json!({"volumes": [{"name": "v", "secret": {"secretName": secret}}]}),
    )
}

fn secret(name: &str, value: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"key": ByteString(value.into())}})
}

fn value(references: &References, secret: &str) -> String {
    let secret = references.secrets[secret].as_ref().unwrap();
    String::from_utf8(secret.data.as_ref().unwrap()["key"].0.clone()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn pods_share_a_watch_that_ends_with_the_last_of_them() {
    let node = Node::new();
    node.api.put(SECRETS, secret("s", "one"));
    let (first, second) = (pod_with_secret("1", "s"), pod_with_secret("2", "s"));
    assert_eq!(value(&*node.references(&first).await, "s"), "one");
    assert_eq!(value(&*node.references(&second).await, "s"), "one");
    assert_eq!(value(&*node.references(&second).await, "s"), "one");
    assert_eq!(node.lists(SECRETS), 1, "one read for all of them");
    let query = &node.api.asked(SECRETS)[0].query;
    assert!(query.contains("fieldSelector=metadata.name%3Ds"), "{query}");
    node.quiet().await;
    assert_eq!(node.api.open_watches(), 2, "the secret and the Services");

    node.objects.forget(&first.want.uid).await;
    node.quiet().await;
    assert_eq!(node.api.open_watches(), 2, "somebody still refers to it");
    node.objects.forget(&second.want.uid).await;
    node.quiet().await;
    assert_eq!(node.api.open_watches(), 1, "the Services");
    assert!(node.objects.changes().borrow().pods.is_empty());
}

#[tokio::test(start_paused = true)]
async fn many_containers_of_one_pod_cause_one_request() {
    let node = Node::new();
    node.api.put(SECRETS, secret("s", "one"));
    let env = json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}}]);
    let container = |name: &str| json!({"name": name, "image": "x:1", "env": env});
    let many = pod(
        "1",
        json!({
            "containers": [container("a"), container("b"), container("c")],
            "imagePullSecrets": [{"name": "s"}],
        }),
    );
    let (one, other) = tokio::join!(node.references(&many), node.references(&many));
    assert_eq!(
        (value(&one, "s"), value(&other, "s")),
        ("one".into(), "one".into())
    );
    assert_eq!(node.lists(SECRETS), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_said_and_appears_later() {
    let node = Node::new();
    let pod = pod(
        "1",
        json!({"volumes": [
            {"name": "s", "secret": {"secretName": "s"}},
            {"name": "c", "configMap": {"name": "c"}},
        ]}),
    );
    let references = node.references(&pod).await;
    let missing = references.secrets["s"].as_ref().unwrap_err();
    assert_eq!(missing.kind, FailKind::Gone);
    assert_eq!(missing.message, "secret \"s\" not found");
    let missing = references.config_maps["c"].as_ref().unwrap_err();
    assert_eq!(missing.message, "configmap \"c\" not found");
    assert!(!node.is_touched(&pod, 0), "there was no news");

    node.quiet().await;
    node.api.put(SECRETS, secret("s", "one"));
    let since = node.touched(&pod, 0).await;
    assert_eq!(value(&*node.references(&pod).await, "s"), "one");
    node.api.put(
        CONFIG_MAPS,
        json!({"metadata": {"name": "c"}, "data": {"a": "b"}}),
    );
    node.touched(&pod, since).await;
    let references = node.references(&pod).await;
    let config_map = references.config_maps["c"].as_ref().unwrap();
    assert_eq!(config_map.data.as_ref().unwrap()["a"], "b");
}

#[tokio::test(start_paused = true)]
async fn updates_and_removals_reach_the_pods_that_refer_to_the_object_and_no_other() {
    let node = Node::new();
    node.api.put(SECRETS, secret("s", "one"));
    node.api.put(SECRETS, secret("t", "other"));
    let (pod, other) = (pod_with_secret("1", "s"), pod_with_secret("2", "t"));
    node.references(&pod).await;
    node.references(&other).await;
    node.quiet().await;
    node.api.put(SECRETS, secret("s", "two"));
    let since = node.touched(&pod, 0).await;
    assert_eq!(value(&*node.references(&pod).await, "s"), "two");
    assert!(!node.is_touched(&other, 0));
    node.api.remove(SECRETS, "s");
    node.touched(&pod, since).await;
    let references = node.references(&pod).await;
    assert_eq!(
        references.secrets["s"].as_ref().unwrap_err().kind,
        FailKind::Gone
    );
}

#[tokio::test(start_paused = true)]
async fn a_new_manifest_begins_and_ends_watches() {
    let node = Node::new();
    for name in ["s", "t", "u"] {
        node.api.put(SECRETS, secret(name, name));
    }
    let volumes = json!([{"name": "v", "secret": {"secretName": "s"}}]);
    let debugger = |secret: &str| {
        let from = json!([{"secretRef": {"name": secret}}]);
        let containers = json!([{"name": "d", "image": "x:1", "envFrom": from}]);
        pod(
            "1",
            json!({"volumes": volumes, "ephemeralContainers": containers}),
        )
    };
    node.references(&debugger("t")).await;
    node.quiet().await;
    assert_eq!(node.api.open_watches(), 3);
    let references = node.references(&debugger("u")).await;
    assert_eq!(
        (value(&references, "s"), value(&references, "u")),
        ("s".into(), "u".into())
    );
    node.quiet().await;
    assert_eq!(node.api.open_watches(), 3);
    assert_eq!(
        node.lists(SECRETS),
        3,
        "what both refer to is not read again"
    );
    node.objects.forget(&PodUid::new("1")).await;
    node.quiet().await;
    assert_eq!(node.api.open_watches(), 1, "the Services");
}
