//! `/run/{namespace}/{pod}[/{uid}]/{container}`: a command in a container; its output is the answer.

use std::time::Duration;

use axum::body::Body;
use http::{Response, StatusCode, Uri};

use crate::answer::{json, text};
use crate::endpoint::{no_container, no_pod};
use crate::pods::Found;
use crate::query;
use crate::route::Target;
use crate::server::Server;

/// Kubernetes 1.37: `cmd` is cut at single spaces, the answer is called JSON whatever it is, and a
/// command that fails is an error of the server.
pub(crate) async fn run(server: &Server, target: Target<'_>, uri: &Uri) -> Response<Body> {
    let Some(pod) = Found::pod(server, target) else {
        return no_pod();
    };
    let running = pod.running(target.container).filter(|_| pod.is(target.uid));
    let Some(container) = running else {
        return no_container(target.container);
    };
    let query = query::pairs(uri);
    let line = query::value(&query, "cmd").unwrap_or_default();
    let command: Vec<String> = line.split(' ').map(str::to_owned).collect();
    // No limit but the one of every call to the runtime.
    match server
        .doors
        .runtime
        .exec(container, &command, Duration::ZERO)
        .await
    {
        Ok(output) if output.code == 0 => json(output.output),
        Ok(output) => {
            let body = format!(
                "command '{line}' exited with {}: {}",
                output.code, output.output
            );
            text(StatusCode::INTERNAL_SERVER_ERROR, body)
        }
        Err(fail) => text(StatusCode::INTERNAL_SERVER_ERROR, fail.message),
    }
}
