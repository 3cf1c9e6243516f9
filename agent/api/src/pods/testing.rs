//! A small API server for tests: pods alone, with list, watch, create, status patch and delete. It
//! can be slow, refuse single pods, forget its history, and be away.

mod merge;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_core::PodUid;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::service_fn;

use super::cache::{ApiPods, name};
use super::mirror_hash;
use merge::merge;

/// A pod of the API, from JSON that needs to say only what matters.
pub(crate) fn pod(name: &str, rest: Value) -> Pod {
    let mut value = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": "default", "name": name, "uid": format!("uid-{name}"), "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"nodeName": "node", "containers": [{"name": "main", "image": "x:1"}]},
    });
    merge(&mut value, &rest);
    serde_json::from_value(value).unwrap()
}

#[derive(Debug, Default)]
struct State {
    pods: BTreeMap<String, Pod>,
    version: u64,
    /// Version, kind and object of everything that happened.
    events: Vec<(u64, &'static str, Pod)>,
    /// Watches from before this are refused.
    oldest: u64,
    calls: Vec<String>,
    patches: Vec<Value>,
    faults: BTreeMap<String, VecDeque<u16>>,
    dropped: Option<&'static str>,
    away: bool,
    delay: Duration,
    /// Calls while it was away.
    vain: usize,
    present: usize,
    most: usize,
}

/// The server.
#[derive(Clone, Debug)]
pub(crate) struct FakeApi {
    state: Arc<Mutex<State>>,
    version: Arc<watch::Sender<u64>>,
}

impl FakeApi {
    pub(crate) fn new() -> Self {
        Self {
            state: Arc::default(),
            version: Arc::new(watch::Sender::new(0)),
        }
    }

    pub(crate) fn client(&self) -> Client {
        let api = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let api = api.clone();
            async move { api.answer(request).await }
        });
        Client::new(service, "default")
    }

    /// Makes or replaces a pod, as somebody else would.
    pub(crate) fn put(&self, pod: Pod) {
        let mut state = self.state.lock().unwrap();
        let there = state.pods.contains_key(&name(&pod).to_string());
        self.store(&mut state, pod, if there { "MODIFIED" } else { "ADDED" });
    }

    /// Changes a pod, as somebody else would.
    pub(crate) fn change(&self, pod: &str, change: &Value) {
        let mut value = serde_json::to_value(self.get(pod).unwrap()).unwrap();
        merge(&mut value, change);
        self.put(serde_json::from_value(value).unwrap());
    }

    pub(crate) fn remove(&self, pod: &str) {
        let mut state = self.state.lock().unwrap();
        let pod = state.pods.remove(&format!("default/{pod}")).unwrap();
        self.log(&mut state, "DELETED", pod);
    }

    pub(crate) fn get(&self, pod: &str) -> Option<Pod> {
        let state = self.state.lock().unwrap();
        state.pods.get(&format!("default/{pod}")).cloned()
    }

    /// Everything that was asked so far, lists and watches left out.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.state.lock().unwrap().calls.clone()
    }

    /// Patches that were taken.
    pub(crate) fn patches(&self) -> Vec<Value> {
        self.state.lock().unwrap().patches.clone()
    }

    /// The next calls about this pod, or `watch`, are answered with these codes.
    pub(crate) fn fail(&self, pod: &str, codes: &[u16]) {
        let mut state = self.state.lock().unwrap();
        let faults = state.faults.entry(pod.to_owned()).or_default();
        faults.extend(codes);
    }

    /// Leaves this field out of every status, as a server of another version does.
    pub(crate) fn drop_field(&self, field: &'static str) {
        self.state.lock().unwrap().dropped = Some(field);
    }

    pub(crate) fn away(&self, away: bool) {
        self.state.lock().unwrap().away = away;
    }

    pub(crate) fn delay(&self, delay: Duration) {
        self.state.lock().unwrap().delay = delay;
    }

    /// Calls that found nobody.
    pub(crate) fn vain(&self) -> usize {
        self.state.lock().unwrap().vain
    }

    /// The most calls that ran side by side.
    pub(crate) fn most(&self) -> usize {
        self.state.lock().unwrap().most
    }

    /// Forgets what happened: who watches from before has to list again.
    pub(crate) fn compact(&self) {
        let mut state = self.state.lock().unwrap();
        state.version += 1;
        state.oldest = state.version;
        state.events.clear();
        self.version.send_replace(state.version);
    }

    /// What a watch would show now.
    pub(crate) fn objects(&self) -> Arc<ApiPods> {
        let mut objects = ApiPods {
            listed: true,
            ..ApiPods::default()
        };
        for pod in self.state.lock().unwrap().pods.values() {
            let pod = Arc::new(pod.clone());
            if mirror_hash(&pod).is_some() {
                objects.mirrors.insert(name(&pod), pod);
            } else {
                let uid = PodUid::new(pod.metadata.uid.as_deref().unwrap());
                objects.pods.insert(uid, pod);
            }
        }
        Arc::new(objects)
    }

    /// Shows every change to whoever listens, as the watch does.
    pub(crate) async fn show(self, objects: watch::Sender<Arc<ApiPods>>) {
        let mut version = self.version.subscribe();
        loop {
            objects.send_replace(self.objects());
            version.changed().await.unwrap();
        }
    }

    fn store(&self, state: &mut State, mut pod: Pod, kind: &'static str) -> Pod {
        pod.metadata.resource_version = Some((state.version + 1).to_string());
        state.pods.insert(name(&pod).to_string(), pod.clone());
        self.log(state, kind, pod)
    }

    fn log(&self, state: &mut State, kind: &'static str, mut pod: Pod) -> Pod {
        state.version += 1;
        pod.metadata.resource_version = Some(state.version.to_string());
        state.events.push((state.version, kind, pod.clone()));
        self.version.send_replace(state.version);
        pod
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, io::Error> {
        let (parts, body) = request.into_parts();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let path: Vec<&str> = parts.uri.path().split('/').skip(3).collect();
        {
            let mut state = self.state.lock().unwrap();
            if state.away {
                state.vain += 1;
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
        }
        if path == ["pods"] {
            return Ok(if query.contains("watch=true") {
                self.watch(&query).await
            } else {
                self.list()
            });
        }
        let delay = {
            let mut state = self.state.lock().unwrap();
            state.present += 1;
            state.most = state.most.max(state.present);
            state.delay
        };
        tokio::time::sleep(delay).await;
        let bytes = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let mut state = self.state.lock().unwrap();
        state.present -= 1;
        let pod = path.get(3).copied();
        let pod = pod
            .or(body["metadata"]["name"].as_str())
            .unwrap()
            .to_owned();
        state.calls.push(format!("{} {pod}", parts.method));
        if let Some(code) = state.faults.get_mut(&pod).and_then(VecDeque::pop_front) {
            return Ok(failure(code));
        }
        Ok(match parts.method {
            Method::POST => self.create(&mut state, body),
            Method::PATCH => self.patch(&mut state, &pod, body),
            Method::DELETE => self.delete(&mut state, &pod, &body),
            _ => failure(405),
        })
    }

    fn create(&self, state: &mut State, body: Value) -> Response<Body> {
        let mut pod: Pod = serde_json::from_value(body).unwrap();
        if state.pods.contains_key(&name(&pod).to_string()) {
            return failure(409);
        }
        pod.metadata.uid = Some(format!("made-{}", state.version));
        reply(200, &self.store(state, pod, "ADDED"))
    }

    fn patch(&self, state: &mut State, pod: &str, patch: Value) -> Response<Body> {
        let Some(old) = state.pods.get(&format!("default/{pod}")) else {
            return failure(404);
        };
        if patch["metadata"]["uid"].as_str() != old.metadata.uid.as_deref() {
            return failure(409);
        }
        let mut value = serde_json::to_value(old).unwrap();
        merge(&mut value, &patch);
        if let (Some(field), Value::Object(status)) = (state.dropped, &mut value["status"]) {
            status.remove(field);
        }
        let new = serde_json::from_value(value).unwrap();
        let new = if new == *old {
            new
        } else {
            self.store(state, new, "MODIFIED")
        };
        state.patches.push(patch);
        reply(200, &new)
    }

    fn delete(&self, state: &mut State, pod: &str, options: &Value) -> Response<Body> {
        let key = format!("default/{pod}");
        let Some(old) = state.pods.get(&key) else {
            return failure(404);
        };
        if options["preconditions"]["uid"].as_str() != old.metadata.uid.as_deref() {
            return failure(409);
        }
        assert_eq!(options["gracePeriodSeconds"], json!(0));
        let finalizers = old.metadata.finalizers.as_ref();
        let old = old.clone();
        if finalizers.is_none_or(Vec::is_empty) {
            state.pods.remove(&key);
            self.log(state, "DELETED", old.clone());
        }
        reply(200, &old)
    }

    fn list(&self) -> Response<Body> {
        let state = self.state.lock().unwrap();
        let items: Vec<&Pod> = state.pods.values().collect();
        let version = state.version.max(1).to_string();
        reply(
            200,
            &json!({
                "apiVersion": "v1", "kind": "PodList", "items": items,
                "metadata": {"resourceVersion": version},
            }),
        )
    }

    /// Answers once there is something to tell; the client then asks again.
    async fn watch(&self, query: &str) -> Response<Body> {
        let from = query
            .split('&')
            .find_map(|part| part.strip_prefix("resourceVersion="));
        let from: u64 = from.unwrap().parse().unwrap();
        let mut version = self.version.subscribe();
        let fault = {
            let mut state = self.state.lock().unwrap();
            state.faults.get_mut("watch").and_then(VecDeque::pop_front)
        };
        if let Some(code) = fault {
            return failure(code);
        }
        loop {
            version.wait_for(|version| *version > from).await.unwrap();
            let state = self.state.lock().unwrap();
            if state.oldest > from {
                let gone =
                    json!({"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired"});
                let line = json!({"type": "ERROR", "object": gone});
                return Response::new(Body::from(format!("{line}\n").into_bytes()));
            }
            let events = state.events.iter().filter(|(at, _, _)| *at > from);
            let lines: Vec<u8> = events
                .flat_map(|(_, kind, pod)| {
                    format!("{}\n", json!({"type": kind, "object": pod})).into_bytes()
                })
                .collect();
            if !lines.is_empty() {
                return Response::new(Body::from(lines));
            }
        }
    }
}

fn reply(code: u16, body: &impl serde::Serialize) -> Response<Body> {
    let body = serde_json::to_vec(body).unwrap();
    let response = Response::builder().status(code);
    response.body(Body::from(body)).unwrap()
}

fn failure(code: u16) -> Response<Body> {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code,
        "message": "asked for by the test", "reason": "Test", "details": {"retryAfterSeconds": 1},
    });
    reply(code, &status)
}

/// A static pod from a file.
pub(crate) fn static_pod(name: &str, hash: &str) -> Pod {
    let marks = json!({
        "kubernetes.io/config.source": "file",
        "kubernetes.io/config.hash": hash,
    });
    pod(
        name,
        json!({"metadata": {"uid": hash, "annotations": marks}}),
    )
}
