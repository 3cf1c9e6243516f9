//! `/portForward/{namespace}/{pod}[/{uid}]`: connections to ports of a pod.

use std::sync::Arc;

use agent_core::SandboxId;
use axum::body::Body;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::answer::text;
use crate::endpoint::{no_pod, refused};
use crate::pods::Found;
use crate::query;
use crate::route::Target;
use crate::server::{Caller, Server};
use crate::splice::{is_web_socket, splice};

pub(crate) async fn port_forward(
    server: &Arc<Server>,
    caller: &Arc<Caller>,
    target: Target<'_>,
    request: Request<Incoming>,
) -> Response<Body> {
    let ports = if is_web_socket(request.headers()) {
        match ports(&query::pairs(request.uri())) {
            Ok(ports) => ports,
            Err(message) => return text(StatusCode::BAD_REQUEST, message),
        }
    } else {
        // Over SPDY each stream names its port.
        Vec::new()
    };
    let Some(pod) = Found::pod(server, target) else {
        return no_pod();
    };
    if !pod.is(target.uid) {
        return text(StatusCode::NOT_FOUND, "pod not found");
    }
    let sandbox = match sandbox(server, &pod).await {
        Ok(sandbox) => sandbox,
        Err(refusal) => return refusal,
    };
    match server.doors.streaming.port_forward(&sandbox, &ports).await {
        Ok(address) => splice(server, caller, &address, request).await,
        Err(fail) => refused(&fail),
    }
}

/// The sandbox that is up. The board does not tell it, so the runtime is asked.
async fn sandbox(server: &Server, pod: &Found) -> Result<SandboxId, Response<Body>> {
    let seen = server.doors.runtime.observe(&pod.snapshot.uid).await;
    let seen = seen.map_err(|fail| refused(&fail))?;
    let ready = seen
        .have
        .sandboxes
        .into_iter()
        .find(|sandbox| sandbox.ready);
    ready.map(|sandbox| sandbox.id).ok_or_else(|| {
        let name = &pod.snapshot.name;
        let body = format!("pod not found (\"{}_{}\")", name.name, name.namespace);
        text(StatusCode::INTERNAL_SERVER_ERROR, body)
    })
}

/// Kubernetes 1.37: over WebSocket the query names the ports, several by commas.
fn ports(query: &[(String, String)]) -> Result<Vec<i32>, String> {
    let mut ports = Vec::new();
    for value in query::values(query, "port") {
        if value.is_empty() {
            return Err("query parameter \"port\" cannot be empty".to_owned());
        }
        for port in value.split(',') {
            match port.parse::<u16>() {
                Ok(0) => return Err(format!("port {port:?} must be > 0")),
                Ok(port) => ports.push(i32::from(port)),
                Err(error) => return Err(format!("unable to parse {value:?} as a port: {error}")),
            }
        }
    }
    if ports.is_empty() {
        return Err("query parameter \"port\" is required".to_owned());
    }
    Ok(ports)
}

#[cfg(test)]
mod tests;
