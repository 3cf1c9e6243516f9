//! Conditions of the node.

use agent_core::Time;
use k8s_openapi::api::core::v1::NodeCondition;

use super::facts::{StatusEvent, api_time};

/// A condition that says that something runs short.
struct Pressure {
    name: &'static str,
    reason: &'static str,
    message: &'static str,
    event: &'static str,
}

/// Nothing runs short as far as this node knows: it does not evict yet, so it never finds out. The
/// words are those of Kubernetes 1.37 for a node that is well.
const PRESSURES: [Pressure; 3] = [
    Pressure {
        name: "MemoryPressure",
        reason: "KubeletHasSufficientMemory",
        message: "kubelet has sufficient memory available",
        event: "NodeHasSufficientMemory",
    },
    Pressure {
        name: "DiskPressure",
        reason: "KubeletHasNoDiskPressure",
        message: "kubelet has no disk pressure",
        event: "NodeHasNoDiskPressure",
    },
    Pressure {
        name: "PIDPressure",
        reason: "KubeletHasSufficientPID",
        message: "kubelet has sufficient PID available",
        event: "NodeHasSufficientPID",
    },
];

/// Brings the node's own conditions up to date and leaves those of others. `unready`: what stands
/// against Ready. Gives what changed.
pub(crate) fn update(
    node: &str,
    conditions: &mut Vec<NodeCondition>,
    unready: &[String],
    now: Time,
) -> Vec<StatusEvent> {
    let mut events = Vec::new();
    for pressure in &PRESSURES {
        let new = condition(
            pressure.name,
            "False",
            pressure.reason,
            pressure.message,
            now,
        );
        if put(conditions, new) != Put::Same {
            events.push(StatusEvent::state(node, pressure.event));
        }
    }
    // Ready is the last one of a new Node object; some readers expect it there.
    let (status, reason, message) = match unready {
        [] => (
            "True",
            "KubeletReady",
            "kubelet is posting ready status".to_owned(),
        ),
        causes => ("False", "KubeletNotReady", words(causes)),
    };
    let put = put(
        conditions,
        condition("Ready", status, reason, &message, now),
    );
    match (put, status) {
        (Put::Same, _) | (Put::New, "False") => {}
        (_, "True") => events.push(StatusEvent::state(node, "NodeReady")),
        _ => events.push(StatusEvent::state(node, "NodeNotReady")),
    }
    events
}

#[derive(PartialEq, Eq)]
enum Put {
    New,
    Changed,
    Same,
}

/// Puts a condition in its place; one with the same status keeps the time of its change.
fn put(conditions: &mut Vec<NodeCondition>, mut new: NodeCondition) -> Put {
    match conditions.iter_mut().find(|old| old.type_ == new.type_) {
        None => {
            conditions.push(new);
            Put::New
        }
        Some(old) => {
            let same = old.status == new.status;
            if same {
                new.last_transition_time = old.last_transition_time.take();
            }
            *old = new;
            if same { Put::Same } else { Put::Changed }
        }
    }
}

fn condition(name: &str, status: &str, reason: &str, message: &str, now: Time) -> NodeCondition {
    NodeCondition {
        type_: name.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_heartbeat_time: Some(api_time(now)),
        last_transition_time: Some(api_time(now)),
    }
}

/// One cause as it is, several in brackets, none twice.
fn words(causes: &[String]) -> String {
    let mut different: Vec<&str> = Vec::new();
    for cause in causes {
        if !different.contains(&cause.as_str()) {
            different.push(cause);
        }
    }
    match different.as_slice() {
        [one] => (*one).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// Whether two lists say the same, whenever they said it.
pub(crate) fn same(old: &[NodeCondition], new: &[NodeCondition]) -> bool {
    let timeless = |condition: &NodeCondition| NodeCondition {
        last_heartbeat_time: None,
        ..condition.clone()
    };
    old.len() == new.len()
        && old
            .iter()
            .zip(new)
            .all(|(old, new)| timeless(old) == timeless(new))
}

#[cfg(test)]
mod tests;
