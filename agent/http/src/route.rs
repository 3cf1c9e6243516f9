//! Which endpoint a path stands for, and which methods it takes.
//!
//! Paths are taken as they were sent, without decoding: names in Kubernetes need none, and so the path
//! that was authorized is the path that is served.

use std::sync::Arc;

use axum::body::Body;
use http::header::{ALLOW, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::answer;
use crate::endpoint::{
    attach, configz, container_logs, exec, healthz, pods, port_forward, run, running_pods,
};
use crate::server::{Caller, Server};

/// First parts of paths that `enableDebuggingHandlers: false` closes. Kubernetes 1.37: they say so,
/// while `/configz` and others are not there at all.
const DEBUGGING: [&str; 7] = [
    "run",
    "exec",
    "attach",
    "portForward",
    "containerLogs",
    "runningpods",
    "logs",
];

/// One endpoint with what its path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endpoint<'a> {
    Healthz,
    HealthzCheck(&'a str),
    Pods,
    RunningPods,
    Configz,
    ContainerLogs(Target<'a>),
    Exec(Target<'a>),
    Attach(Target<'a>),
    Run(Target<'a>),
    PortForward(Target<'a>),
}

/// A pod, and mostly one of its containers, as a path names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) pod: &'a str,
    /// The pod has to have this UID.
    pub(crate) uid: Option<&'a str>,
    /// Empty where a pod is meant.
    pub(crate) container: &'a str,
}

/// Methods of an endpoint, and what others are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Methods {
    allowed: &'static [&'static str],
    refusal: &'static str,
}

const ANY: Methods = Methods {
    allowed: &[],
    refusal: "",
};
/// Kubernetes 1.37: endpoints that only read have a filter of their own in front.
const READ: Methods = Methods {
    allowed: &["GET"],
    refusal: "Method Not Allowed",
};
const STREAM: Methods = Methods {
    allowed: &["GET", "POST"],
    refusal: "405: Method Not Allowed",
};
const POST: Methods = Methods {
    allowed: &["POST"],
    refusal: "405: Method Not Allowed",
};

/// Answers a request that was let in.
pub(crate) async fn answer(
    server: &Arc<Server>,
    caller: &Arc<Caller>,
    request: Request<Incoming>,
) -> Response<Body> {
    let path = request.uri().path().to_owned();
    if !server.settings.debugging_handlers {
        if is_debugging(&path) {
            return answer::error(
                StatusCode::METHOD_NOT_ALLOWED,
                "Debug endpoints are disabled.",
            );
        }
        if !is_open(&path) {
            return not_found();
        }
    }
    let Some(endpoint) = Endpoint::find(&path) else {
        return not_found();
    };
    let methods = endpoint.methods();
    if !methods.takes(request.method()) {
        return methods.refuse();
    }
    match endpoint {
        Endpoint::Healthz => healthz::all(server, request.uri()),
        Endpoint::HealthzCheck(name) => healthz::one(server, name).unwrap_or_else(not_found),
        Endpoint::Pods => pods::pods(server),
        Endpoint::RunningPods => running_pods::running_pods(server).await,
        Endpoint::Configz => configz::configz(server),
        Endpoint::ContainerLogs(target) => {
            container_logs::container_logs(server, target, request.uri()).await
        }
        Endpoint::Exec(target) => exec::exec(server, caller, target, request).await,
        Endpoint::Attach(target) => attach::attach(server, caller, target, request).await,
        Endpoint::Run(target) => run::run(server, target, request.uri()).await,
        Endpoint::PortForward(target) => {
            port_forward::port_forward(server, caller, target, request).await
        }
    }
}

impl<'a> Endpoint<'a> {
    fn find(path: &'a str) -> Option<Self> {
        let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let parts = match parts.as_slice() {
            [parts @ .., ""] => parts,
            parts => parts,
        };
        if parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        Some(match *parts {
            ["healthz"] => Self::Healthz,
            ["healthz", name] => Self::HealthzCheck(name),
            ["pods"] => Self::Pods,
            ["runningpods"] => Self::RunningPods,
            ["configz"] => Self::Configz,
            ["containerLogs", namespace, pod, container] => Self::ContainerLogs(Target {
                namespace,
                pod,
                container,
                uid: None,
            }),
            ["portForward", namespace, pod] => Self::PortForward(Target {
                namespace,
                pod,
                ..Target::default()
            }),
            ["portForward", namespace, pod, uid] => Self::PortForward(Target {
                namespace,
                pod,
                uid: Some(uid),
                container: "",
            }),
            [verb, namespace, pod, container] => Self::with_container(
                verb,
                Target {
                    namespace,
                    pod,
                    container,
                    uid: None,
                },
            )?,
            [verb, namespace, pod, uid, container] => Self::with_container(
                verb,
                Target {
                    namespace,
                    pod,
                    container,
                    uid: Some(uid),
                },
            )?,
            _ => return None,
        })
    }

    fn with_container(verb: &str, target: Target<'a>) -> Option<Self> {
        match verb {
            "exec" => Some(Self::Exec(target)),
            "attach" => Some(Self::Attach(target)),
            "run" => Some(Self::Run(target)),
            _ => None,
        }
    }

    fn methods(&self) -> Methods {
        match self {
            Self::Healthz | Self::HealthzCheck(_) | Self::Configz => ANY,
            Self::Pods | Self::RunningPods | Self::ContainerLogs(_) => READ,
            Self::Exec(_) | Self::Attach(_) | Self::PortForward(_) => STREAM,
            Self::Run(_) => POST,
        }
    }
}

impl Methods {
    fn takes(self, method: &Method) -> bool {
        self.allowed.is_empty() || self.allowed.contains(&method.as_str())
    }

    fn refuse(self) -> Response<Body> {
        let mut response = answer::text(StatusCode::METHOD_NOT_ALLOWED, self.refusal);
        if let Ok(allowed) = HeaderValue::from_str(&self.allowed.join(", ")) {
            response.headers_mut().insert(ALLOW, allowed);
        }
        response
    }
}

fn first(path: &str) -> &str {
    path.strip_prefix('/')
        .and_then(|path| path.split('/').next())
        .unwrap_or_default()
}

fn is_debugging(path: &str) -> bool {
    DEBUGGING.contains(&first(path)) || path.starts_with("/debug/pprof")
}

/// What is there without debugging handlers.
fn is_open(path: &str) -> bool {
    matches!(first(path), "healthz" | "pods")
}

fn not_found() -> Response<Body> {
    answer::text(StatusCode::NOT_FOUND, "404: Page Not Found")
}

#[cfg(test)]
mod tests;
