//! `/runningpods/`: the pods that the runtime knows with running containers, whoever wants them.

use agent_core::{Observation, RunState};
use axum::body::Body;
use http::{Response, StatusCode};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::answer::{object, text};
use crate::endpoint::pods::list;
use crate::server::Server;

pub(crate) async fn running_pods(server: &Server) -> Response<Body> {
    match server.doors.runtime.list().await {
        Ok(seen) => object(&list(seen.iter().filter_map(pod).collect())),
        Err(fail) => text(StatusCode::INTERNAL_SERVER_ERROR, fail.message),
    }
}

/// Kubernetes 1.37: only names and images are told.
fn pod(seen: &Observation) -> Option<Pod> {
    let running = seen
        .have
        .containers
        .iter()
        .filter(|each| each.state == RunState::Running);
    let containers: Vec<Container> = running
        .map(|each| Container {
            name: each.name.to_string(),
            image: Some(each.image_id.clone()),
            ..Container::default()
        })
        .collect();
    let up = seen.have.sandboxes.iter().any(|sandbox| sandbox.ready);
    (up || !containers.is_empty()).then(|| Pod {
        metadata: ObjectMeta {
            name: Some(seen.name.name.to_string()),
            namespace: Some(seen.name.namespace.to_string()),
            uid: Some(seen.uid.to_string()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers,
            ..PodSpec::default()
        }),
        status: None,
    })
}
