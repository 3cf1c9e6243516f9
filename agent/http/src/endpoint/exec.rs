//! `/exec/{namespace}/{pod}[/{uid}]/{container}`: a command in a container, with streams.

use std::sync::Arc;

use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;

use crate::endpoint::{no_container, no_pod, no_streams, refused, streams};
use crate::pods::Found;
use crate::query;
use crate::route::Target;
use crate::server::{Caller, Server};
use crate::splice::splice;

pub(crate) async fn exec(
    server: &Arc<Server>,
    caller: &Arc<Caller>,
    target: Target<'_>,
    request: Request<Incoming>,
) -> Response<Body> {
    let query = query::pairs(request.uri());
    let Some(streams) = streams(&query) else {
        return no_streams();
    };
    let Some(pod) = Found::pod(server, target) else {
        return no_pod();
    };
    let running = pod.running(target.container).filter(|_| pod.is(target.uid));
    let Some(container) = running else {
        return no_container(target.container);
    };
    let command: Vec<String> = query::values(&query, "command")
        .map(str::to_owned)
        .collect();
    match server
        .doors
        .streaming
        .exec(container, &command, streams)
        .await
    {
        Ok(address) => splice(server, caller, &address, request).await,
        Err(fail) => refused(&fail),
    }
}
