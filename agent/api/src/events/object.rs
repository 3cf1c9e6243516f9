//! From an event of the log to an Event object that nobody has counted yet.

use agent_core::{ContainerName, PodName, PodUid};
use agent_loops::{AgentEvent, EventKind, Subject};
use k8s_openapi::api::core::v1::{Event, EventSource, Node, ObjectReference, Pod};

use crate::node::api_time;

/// Namespace of events about objects that have none.
const NODE_EVENTS: &str = "default";
/// Who reports.
const COMPONENT: &str = "kubelet";
/// Longest name of an object.
const NAME: usize = 253;

/// Where events look things up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings<'a> {
    /// Name of this node.
    pub(super) node_name: &'a str,
    /// Its object, as soon as there is one.
    pub(super) node: Option<&'a Node>,
    /// Manifest of the pod that the event is about, if there is one.
    pub(super) pod: Option<&'a Pod>,
}

/// The object for one happening. `stamp` makes its name its own: nanoseconds that no other event had.
pub(super) fn event(happened: &AgentEvent, stamp: i64, around: Surroundings<'_>) -> Event {
    let (involved, message) = match &happened.subject {
        Subject::Node => (node(around), happened.message.clone()),
        // A part is no object of the API; it belongs to the node.
        Subject::Part(part) => (node(around), format!("{part}: {}", happened.message)),
        Subject::Pod { uid, name } => (pod(uid, name, None, around), happened.message.clone()),
        Subject::Container {
            uid,
            name,
            container,
        } => (
            pod(uid, name, Some(container), around),
            happened.message.clone(),
        ),
    };
    let mut event = Event {
        reason: Some(happened.reason.to_string()),
        message: Some(message),
        type_: Some(kind(happened.kind).to_owned()),
        count: Some(1),
        first_timestamp: Some(api_time(happened.time)),
        last_timestamp: Some(api_time(happened.time)),
        source: Some(EventSource {
            component: Some(COMPONENT.to_owned()),
            host: Some(around.node_name.to_owned()),
        }),
        reporting_component: Some(COMPONENT.to_owned()),
        reporting_instance: Some(around.node_name.to_owned()),
        ..Event::default()
    };
    event.metadata.namespace = Some(
        involved
            .namespace
            .clone()
            .unwrap_or_else(|| NODE_EVENTS.to_owned()),
    );
    event.metadata.name = Some(name(involved.name.as_deref().unwrap_or(""), stamp));
    event.involved_object = involved;
    event
}

/// `<name of the object>.<nanoseconds in hexadecimal>`; a long name is cut, since the number makes it
/// unique anyway.
pub(super) fn name(of: &str, stamp: i64) -> String {
    let number = format!(".{stamp:x}");
    let room = NAME.saturating_sub(number.len());
    let cut = of.get(..room).unwrap_or(of);
    format!("{}{number}", cut.trim_end_matches(['.', '-']))
}

fn kind(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Normal => "Normal",
        EventKind::Warning => "Warning",
    }
}

/// The node; without its UID before its object is known, as the stock kubelet does.
fn node(around: Surroundings<'_>) -> ObjectReference {
    ObjectReference {
        kind: Some("Node".to_owned()),
        name: Some(around.node_name.to_owned()),
        uid: around.node.and_then(|node| node.metadata.uid.clone()),
        ..ObjectReference::default()
    }
}

fn pod(
    uid: &PodUid,
    name: &PodName,
    container: Option<&ContainerName>,
    around: Surroundings<'_>,
) -> ObjectReference {
    let manifest = around.pod;
    let version = manifest.and_then(|pod| pod.metadata.resource_version.clone());
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        namespace: Some(name.namespace.to_string()),
        name: Some(name.name.to_string()),
        uid: Some(uid.to_string()),
        resource_version: version,
        field_path: container.map(|container| field(container, manifest)),
    }
}

/// Which list of the pod has the container; without a manifest the usual one.
fn field(container: &ContainerName, manifest: Option<&Pod>) -> String {
    let spec = manifest.and_then(|pod| pod.spec.as_ref());
    let init = spec.and_then(|spec| spec.init_containers.as_ref());
    let ephemeral = spec.and_then(|spec| spec.ephemeral_containers.as_ref());
    let is = |name: &str| name == container.as_str();
    let list = if init.is_some_and(|all| all.iter().any(|one| is(&one.name))) {
        "initContainers"
    } else if ephemeral.is_some_and(|all| all.iter().any(|one| is(&one.name))) {
        "ephemeralContainers"
    } else {
        "containers"
    };
    format!("spec.{list}{{{container}}}")
}

#[cfg(test)]
mod tests;
