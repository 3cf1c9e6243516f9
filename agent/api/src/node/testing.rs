//! A node for tests, and an API server that holds a few objects in memory.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use agent_core::Time;
use agent_loops::ports::{MachineFacts, RuntimeFacts, RuntimeHandler};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::facts::Facts;
use super::settings::{NodeFlags, NodeSettings};
use crate::configuration::KubeletConfiguration;

/// 2026-01-01T00:00:00Z.
pub(crate) const NOW: Time = Time(1_767_225_600_000_000_000);

pub(crate) fn flags() -> NodeFlags {
    NodeFlags {
        name: "n1".to_owned(),
        hostname: "n1".to_owned(),
        node_ip: "10.0.0.1".to_owned(),
        version: "v1.37.2+gpulet.test".to_owned(),
        ..NodeFlags::default()
    }
}

pub(crate) fn settings() -> NodeSettings {
    settings_with(&flags(), |_| {})
}

pub(crate) fn settings_with(
    flags: &NodeFlags,
    change: impl FnOnce(&mut KubeletConfiguration),
) -> NodeSettings {
    let mut configuration = KubeletConfiguration::default();
    change(&mut configuration);
    NodeSettings::new(&configuration, flags).expect("settings of tests are right")
}

/// A machine of 2 CPUs, 4 GiB of memory and 100 GB of disk.
pub(crate) fn machine() -> MachineFacts {
    MachineFacts {
        machine_id: "machine".to_owned(),
        system_uuid: "uuid".to_owned(),
        boot_id: "boot".to_owned(),
        kernel_version: "6.1.0".to_owned(),
        os_image: "Test OS".to_owned(),
        operating_system: "linux",
        architecture: "amd64",
        cpus: 2,
        memory: 4 << 30,
        hugepages: BTreeMap::from([("hugepages-2Mi".to_owned(), 0)]),
        ephemeral_storage: Some(100_000_000_000),
        local: ["10.0.0.1".parse(), "fd00::1".parse()]
            .into_iter()
            .flatten()
            .collect(),
        ..MachineFacts::default()
    }
}

pub(crate) fn runtime() -> RuntimeFacts {
    RuntimeFacts {
        name: "containerd".to_owned(),
        version: "2.1.9".to_owned(),
        cdi: true,
        cgroup_driver: None,
        handlers: vec![RuntimeHandler {
            name: String::new(),
            recursive_read_only_mounts: true,
            user_namespaces: true,
        }],
        supplemental_groups_policy: Some(true),
    }
}

pub(crate) fn facts() -> Facts {
    Facts {
        machine: machine(),
        runtime: Some(Arc::new(runtime())),
        images: Some(Arc::default()),
        now: NOW,
        ..Facts::default()
    }
}

/// Nodes, leases and events by path, with resource versions; everything that was asked of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeApi {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Value>,
    calls: Vec<String>,
    bodies: Vec<Value>,
    version: u64,
    /// Answers instead of the usual ones, as long as it is set.
    refuse: Option<u16>,
}

impl FakeApi {
    pub(crate) fn client(&self) -> Client {
        Client::new(self.clone(), "default")
    }

    pub(crate) fn object(&self, path: &str) -> Option<Value> {
        self.state.lock().unwrap().objects.get(path).cloned()
    }

    pub(crate) fn put(&self, path: &str, object: Value) {
        let mut state = self.state.lock().unwrap();
        state.store(path, object);
    }

    pub(crate) fn delete(&self, path: &str) {
        self.state.lock().unwrap().objects.remove(path);
    }

    pub(crate) fn refuse(&self, code: Option<u16>) {
        self.state.lock().unwrap().refuse = code;
    }

    /// Method and path of every call since the last time this was asked.
    pub(crate) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().calls)
    }

    /// Bodies of these calls, for those that had one.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        std::mem::take(&mut self.state.lock().unwrap().bodies)
    }
}

impl State {
    fn store(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
        }
        self.objects.insert(path.to_owned(), object.clone());
        object
    }

    fn answer(&mut self, method: &Method, path: &str, body: Value) -> (StatusCode, Value) {
        if let Some(code) = self.refuse {
            let code = StatusCode::from_u16(code).unwrap();
            return (code, failure(code));
        }
        let path = path.strip_suffix("/status").unwrap_or(path);
        let there = self.objects.get(path).cloned();
        match (method.as_str(), there) {
            ("GET", Some(object)) => (StatusCode::OK, object),
            ("POST", _) => {
                let name = body["metadata"]["name"].as_str().unwrap_or("").to_owned();
                let path = format!("{path}/{name}");
                if self.objects.contains_key(&path) {
                    return (StatusCode::CONFLICT, failure(StatusCode::CONFLICT));
                }
                (StatusCode::CREATED, self.store(&path, body))
            }
            ("PUT", Some(old)) => {
                let (was, is) = (&body["metadata"], &old["metadata"]["resourceVersion"]);
                if was["resourceVersion"] != *is {
                    return (StatusCode::CONFLICT, failure(StatusCode::CONFLICT));
                }
                (StatusCode::OK, self.store(path, body))
            }
            ("PATCH", Some(mut object)) => {
                merge(&mut object, &body);
                (StatusCode::OK, self.store(path, object))
            }
            _ => (StatusCode::NOT_FOUND, failure(StatusCode::NOT_FOUND)),
        }
    }
}

fn failure(code: StatusCode) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(),
        "message": code.canonical_reason(),
        "reason": if code == StatusCode::NOT_FOUND { "NotFound" } else { "" },
    })
}

/// A strategic merge, as far as patches of tests need it.
fn merge(object: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        return;
    };
    for (key, value) in fields.iter().filter(|(key, _)| !key.starts_with('$')) {
        match value {
            Value::Null => {
                object.as_object_mut().unwrap().remove(key);
            }
            Value::Object(_) => merge(&mut object[key], value),
            Value::Array(items) if key == "conditions" => {
                let list = object[key].as_array_mut().unwrap();
                for item in items {
                    let old = list.iter_mut().find(|old| old["type"] == item["type"]);
                    match old {
                        Some(old) => *old = item.clone(),
                        None => list.push(item.clone()),
                    }
                }
            }
            other => object[key] = other.clone(),
        }
    }
}

impl tower::Service<Request<Body>> for FakeApi {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let bytes = body.collect().await.unwrap().to_bytes();
            let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            let mut state = this.state.lock().unwrap();
            let path = parts.uri.path().to_owned();
            state.calls.push(format!("{} {path}", parts.method));
            if !body.is_null() {
                state.bodies.push(body.clone());
            }
            let (code, answer) = state.answer(&parts.method, &path, body);
            let bytes = serde_json::to_vec(&answer).unwrap();
            let response = Response::builder().status(code).body(Body::from(bytes));
            Ok(response.unwrap())
        })
    }
}
