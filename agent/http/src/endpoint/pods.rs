//! `/pods`: the pods of this node as the API would show them.

use std::sync::Arc;

use axum::body::Body;
use http::Response;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;

use crate::answer::object;
use crate::server::Server;

pub(crate) fn pods(server: &Server) -> Response<Body> {
    let board = Arc::clone(&server.doors.pods.borrow());
    let items = board
        .values()
        .filter_map(|pod| server.doors.renderer.pod(pod))
        .collect();
    object(&list(items))
}

/// A `PodList`.
pub(crate) fn list(items: Vec<Pod>) -> List<Pod> {
    List {
        items,
        metadata: ListMeta::default(),
    }
}
