//! The endpoints, one file each.

pub(crate) mod attach;
pub(crate) mod configz;
pub(crate) mod container_logs;
pub(crate) mod exec;
pub(crate) mod healthz;
pub(crate) mod pods;
pub(crate) mod port_forward;
pub(crate) mod run;
pub(crate) mod running_pods;

use agent_core::{Fail, FailKind};
use agent_loops::ports::Streams;
use axum::body::Body;
use http::{Response, StatusCode};

use crate::answer::text;
use crate::query::value;

/// The answer when the runtime did not give an address to stream to. Kubernetes 1.37: 404 for what the
/// runtime does not know, 500 for the rest.
fn refused(fail: &Fail) -> Response<Body> {
    let status = match fail.kind {
        FailKind::Gone => StatusCode::NOT_FOUND,
        FailKind::Retry | FailKind::Permanent => StatusCode::INTERNAL_SERVER_ERROR,
    };
    text(status, fail.message.clone())
}

/// The streams that a query asks for. `None`: not one. Kubernetes 1.37: only `1` is yes, and a terminal
/// has no stream for errors.
fn streams(query: &[(String, String)]) -> Option<Streams> {
    let is_set = |name| value(query, name) == Some("1");
    let tty = is_set("tty");
    let streams = Streams {
        stdin: is_set("input"),
        stdout: is_set("output"),
        stderr: is_set("error") && !tty,
        tty,
    };
    (streams.stdin || streams.stdout || streams.stderr).then_some(streams)
}

/// The answer to a query without streams.
fn no_streams() -> Response<Body> {
    let body = "you must specify at least 1 of stdin, stdout, stderr";
    text(StatusCode::BAD_REQUEST, body)
}

/// The answer for a pod that nobody knows.
fn no_pod() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "pod does not exist")
}

/// The answer for a container that does not run.
fn no_container(name: &str) -> Response<Body> {
    text(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("container not found ({name:?})"),
    )
}

#[cfg(test)]
mod tests;
