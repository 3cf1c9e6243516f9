//! The Node object as it should be now, from the one that is there.

use agent_loops::EventKind;
use k8s_openapi::api::core::v1::{
    DaemonEndpoint, Node, NodeDaemonEndpoints, NodeSpec, NodeStatus, NodeSwapStatus, NodeSystemInfo,
};

use super::facts::{Facts, StatusEvent};
use super::settings::NodeSettings;
use super::{addresses, conditions, features, images, labels, resources, taints};

/// Annotation that says who attaches volumes.
const CONTROLLER_ATTACHES: &str = "volumes.kubernetes.io/controller-managed-attach-detach";

/// A Node object and what about it is new.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    /// As it should be.
    pub(crate) node: Node,
    /// What changed, to be told once it is written.
    pub(crate) events: Vec<StatusEvent>,
    /// Why no address could be shown; the old ones stay then.
    pub(crate) no_address: Option<String>,
}

/// A Node object that is not there yet.
pub(crate) fn initial(settings: &NodeSettings, facts: &Facts) -> Rendered {
    let mut node = Node::default();
    node.metadata.name = Some(settings.name.clone());
    node.metadata.labels = Some(labels::initial(settings, &facts.machine));
    attach(settings, &mut node);
    node.spec = Some(NodeSpec {
        taints: taints::initial(settings),
        provider_id: Some(settings.provider_id.clone()).filter(|id| !id.is_empty()),
        ..NodeSpec::default()
    });
    present(&node, settings, facts)
}

/// A Node object that was there before this process began.
pub(crate) fn adopted(old: &Node, settings: &NodeSettings, facts: &Facts) -> Rendered {
    let mut node = old.clone();
    let wanted = labels::initial(settings, &facts.machine);
    labels::adopt(&wanted, node.metadata.labels.get_or_insert_default());
    attach(settings, &mut node);
    if let Some(status) = node.status.as_mut().filter(|_| settings.fresh) {
        let amounts = [&mut status.capacity, &mut status.allocatable];
        for amounts in amounts.into_iter().flatten() {
            resources::forget_devices(amounts);
        }
    }
    present(&node, settings, facts)
}

/// The Node object with its present status.
pub(crate) fn present(old: &Node, settings: &NodeSettings, facts: &Facts) -> Rendered {
    let mut node = old.clone();
    let Facts {
        machine, runtime, ..
    } = facts;
    labels::repair(machine, node.metadata.labels.get_or_insert_default());
    annotate(
        &mut node,
        addresses::PROVIDED,
        addresses::provided(settings),
    );
    let mut status = node.status.take().unwrap_or_default();
    let mut events = Vec::new();
    let old_addresses = status.addresses.take().unwrap_or_default();
    let no_address = match addresses::choose(settings, machine, &old_addresses) {
        Ok(chosen) => {
            status.addresses = filled(chosen);
            None
        }
        Err(why) => {
            status.addresses = filled(old_addresses);
            Some(why)
        }
    };
    let amounts = (
        &status.capacity.take().unwrap_or_default(),
        &status.allocatable.take().unwrap_or_default(),
    );
    let (capacity, allocatable) = resources::amounts(settings, machine, &facts.devices, amounts);
    let mut unready = facts.unready.clone();
    let missing = resources::missing(settings, &capacity);
    if !missing.is_empty() {
        let missing = missing.join(", ");
        unready.push(format!("missing node capacity for resources: {missing}"));
    }
    (status.capacity, status.allocatable) = (Some(capacity), Some(allocatable));
    let info = status.node_info.take().unwrap_or_default();
    events.extend(reboot(&info, settings, facts));
    status.node_info = Some(system(&info, settings, facts));
    status.daemon_endpoints = Some(NodeDaemonEndpoints {
        kubelet_endpoint: Some(DaemonEndpoint {
            port: settings.port,
        }),
    });
    if let Some(present) = &facts.images {
        status.images = filled(images::shown(present, settings.max_images));
    }
    if let Some(runtime) = runtime {
        status.runtime_handlers = features::handlers(runtime);
        status.features = features::features(runtime);
    }
    status.declared_features = features::declared();
    let list = status.conditions.get_or_insert_default();
    events.extend(conditions::update(
        &settings.name,
        list,
        &unready,
        facts.now,
    ));
    node.status = Some(status);
    Rendered {
        node,
        events,
        no_address,
    }
}

/// Whether two Node objects differ in anything but heartbeats.
pub(crate) fn differ(old: &Node, new: &Node) -> bool {
    let meta = |node: &Node| {
        (
            node.metadata.labels.clone(),
            node.metadata.annotations.clone(),
        )
    };
    let split = |node: &Node| {
        let mut status: NodeStatus = node.status.clone().unwrap_or_default();
        (status.conditions.take().unwrap_or_default(), status)
    };
    let ((old_conditions, old_rest), (new_conditions, new_rest)) = (split(old), split(new));
    meta(old) != meta(new)
        || old_rest != new_rest
        || !conditions::same(&old_conditions, &new_conditions)
}

fn attach(settings: &NodeSettings, node: &mut Node) {
    let value = settings.controller_attaches.then(|| "true".to_owned());
    annotate(node, CONTROLLER_ATTACHES, value);
}

/// Sets or removes an annotation; an object without any keeps none.
fn annotate(node: &mut Node, key: &str, value: Option<String>) {
    let annotations = &mut node.metadata.annotations;
    match value {
        Some(value) => {
            let all = annotations.get_or_insert_default();
            all.insert(key.to_owned(), value);
        }
        None => {
            if let Some(all) = annotations {
                all.remove(key);
            }
        }
    }
}

/// The API leaves empty lists out, so an empty one here would always look like a change.
fn filled<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn reboot(old: &NodeSystemInfo, settings: &NodeSettings, facts: &Facts) -> Option<StatusEvent> {
    let (node, id) = (&settings.name, &facts.machine.boot_id);
    let rebooted = !old.boot_id.is_empty() && !id.is_empty() && old.boot_id != *id;
    rebooted.then(|| StatusEvent {
        kind: EventKind::Warning,
        reason: "Rebooted",
        message: format!("Node {node} has been rebooted, boot id: {id}"),
    })
}

fn system(old: &NodeSystemInfo, settings: &NodeSettings, facts: &Facts) -> NodeSystemInfo {
    let machine = &facts.machine;
    let swap = i64::try_from(machine.swap).ok().filter(|bytes| *bytes > 0);
    NodeSystemInfo {
        machine_id: machine.machine_id.clone(),
        system_uuid: machine.system_uuid.clone(),
        boot_id: machine.boot_id.clone(),
        kernel_version: machine.kernel_version.clone(),
        os_image: machine.os_image.clone(),
        container_runtime_version: match &facts.runtime {
            Some(runtime) => format!("{}://{}", runtime.name, runtime.version),
            // It did not answer yet: what it was before is the best guess.
            None if !old.container_runtime_version.is_empty() => {
                old.container_runtime_version.clone()
            }
            None => "unknown://Unknown".to_owned(),
        },
        kubelet_version: settings.version.clone(),
        // Kubernetes 1.37: no longer reported, and taken out where an older node left it.
        kube_proxy_version: String::new(),
        operating_system: machine.operating_system.to_owned(),
        architecture: machine.architecture.to_owned(),
        swap: swap.map(|capacity| NodeSwapStatus {
            capacity: Some(capacity),
        }),
        running_in_user_namespace: Some(machine.in_user_namespace),
    }
}

#[cfg(test)]
mod tests;
