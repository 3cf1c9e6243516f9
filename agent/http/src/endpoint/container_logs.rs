//! `/containerLogs/{namespace}/{pod}/{container}`: what a container wrote.

use agent_core::{ContainerId, ContainerState, ContainerStatus};
use axum::body::Body;
use http::{Response, StatusCode, Uri};
use jiff::Timestamp;

use crate::answer::text;
use crate::logs::{LogOptions, LogPlace, LogReader, OptionsError, Subject};
use crate::pods::Found;
use crate::query;
use crate::route::Target;
use crate::server::Server;

pub(crate) async fn container_logs(
    server: &Server,
    target: Target<'_>,
    uri: &Uri,
) -> Response<Body> {
    let options = match LogOptions::parse(&query::pairs(uri), Timestamp::now()) {
        Ok(options) => options,
        Err(OptionsError::Unreadable) => {
            return text(
                StatusCode::BAD_REQUEST,
                r#"{"message": "Unable to decode query."}"#,
            );
        }
        Err(OptionsError::Invalid) => {
            return text(
                StatusCode::UNPROCESSABLE_ENTITY,
                r#"{"message": "Invalid request."}"#,
            );
        }
    };
    let Some(pod) = Found::pod(server, target) else {
        return text(
            StatusCode::NOT_FOUND,
            format!("pod {:?} does not exist", target.pod),
        );
    };
    if !pod.has(target.container) {
        let body = format!(
            "container {:?} not found in pod {:?}",
            target.container, target.pod
        );
        return text(StatusCode::NOT_FOUND, body);
    }
    if let Some(stream) = options.stream {
        let body = format!(
            "unable to return the given log stream: {stream:?}. \
             Please enable PodLogsQuerySplitStreams feature gate in kubelet"
        );
        return text(StatusCode::BAD_REQUEST, body);
    }
    match open(server, target, &pod, &options).await {
        Ok(reader) => {
            let mut response = text(StatusCode::OK, "");
            *response.body_mut() = Body::from_stream(reader.pieces());
            response
        }
        Err(message) => text(StatusCode::BAD_REQUEST, message),
    }
}

async fn open(
    server: &Server,
    target: Target<'_>,
    pod: &Found,
    options: &LogOptions,
) -> Result<LogReader, String> {
    let status = pod.status(target.container).ok_or_else(|| {
        format!(
            "container {:?} in pod {:?} is not available",
            target.container, target.pod
        )
    })?;
    let id = instance(status, target, options.previous)?;
    let unreadable =
        |why: &dyn std::fmt::Display| format!("unable to retrieve container logs for {id}: {why}");
    let snapshot = &pod.snapshot;
    let root = &server.settings.pod_logs;
    let place = LogPlace::new(root, &snapshot.name, &snapshot.uid, &status.name)
        .ok_or_else(|| unreadable(&"its name is no file name"))?;
    let attempt = if status.id.as_ref() == Some(id) {
        status.restart_count
    } else {
        let before = place.newest_before(status.restart_count).await;
        before.ok_or_else(|| unreadable(&"they are removed already"))?
    };
    let follow = options.follow.then(|| Subject {
        pod: snapshot.uid.clone(),
        container: id.clone(),
        board: server.doors.pods.clone(),
        closing: server.closing.clone(),
    });
    let opened = LogReader::open(place, attempt, options, follow).await;
    opened.map_err(|error| unreadable(&error))
}

/// The instance whose log is meant. Kubernetes 1.37: order of the cases and texts.
fn instance<'a>(
    status: &'a ContainerStatus,
    target: Target<'_>,
    previous: bool,
) -> Result<&'a ContainerId, String> {
    let (container, pod) = (target.container, target.pod);
    let known = |id: &&ContainerId| !id.as_str().is_empty();
    let last = status.last.as_ref().map(|last| &last.id).filter(known);
    if previous {
        return last.ok_or_else(|| {
            format!("previous terminated container {container:?} in pod {pod:?} not found")
        });
    }
    let ended = || format!("container {container:?} in pod {pod:?} is terminated");
    match &status.state {
        ContainerState::Running { .. } => status.id.as_ref().ok_or_else(ended),
        ContainerState::Terminated(end) => Some(&end.id).filter(known).or(last).ok_or_else(ended),
        ContainerState::Waiting { reason, .. } => last.ok_or_else(|| {
            let why = match reason.as_str() {
                "ErrImagePull" => "image can't be pulled",
                "ImagePullBackOff" => "trying and failing to pull image",
                other => other,
            };
            format!("container {container:?} in pod {pod:?} is waiting to start: {why}")
        }),
    }
}

#[cfg(test)]
mod tests;
