//! `/attach/{namespace}/{pod}[/{uid}]/{container}`: streams of the main process of a container.

use std::sync::Arc;

use agent_loops::ports::Streams;
use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;

use crate::endpoint::{no_container, no_pod, no_streams, refused, streams};
use crate::pods::Found;
use crate::query;
use crate::route::Target;
use crate::server::{Caller, Server};
use crate::splice::splice;

pub(crate) async fn attach(
    server: &Arc<Server>,
    caller: &Arc<Caller>,
    target: Target<'_>,
    request: Request<Incoming>,
) -> Response<Body> {
    let Some(streams) = streams(&query::pairs(request.uri())) else {
        return no_streams();
    };
    let Some(pod) = Found::pod(server, target) else {
        return no_pod();
    };
    let running = pod.running(target.container).filter(|_| pod.is(target.uid));
    let Some(container) = running else {
        return no_container(target.container);
    };
    // Whether there is a terminal was decided when the process was started.
    let tty = pod.has_terminal(target.container);
    let streams = Streams {
        tty,
        stderr: streams.stderr && !tty,
        ..streams
    };
    match server.doors.streaming.attach(container, streams).await {
        Ok(address) => splice(server, caller, &address, request).await,
        Err(fail) => refused(&fail),
    }
}
