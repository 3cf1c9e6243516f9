//! What a node's status is rendered from, beside the settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent_core::{ResourceName, Time};
use agent_loops::EventKind;
use agent_loops::ports::{ListedImage, MachineFacts, ResourceCount, RuntimeFacts};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;
use k8s_openapi::jiff::Timestamp;

/// The present, as far as it shows in the status.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The host.
    pub(crate) machine: MachineFacts,
    /// The runtime; `None` until it has answered.
    pub(crate) runtime: Option<Arc<RuntimeFacts>>,
    /// Images on the node; `None` until they have been listed.
    pub(crate) images: Option<Arc<Vec<ListedImage>>>,
    /// Devices.
    pub(crate) devices: DeviceFacts,
    /// Why the node is not ready, in the words of the Ready condition. Empty: nothing stands against it.
    pub(crate) unready: Vec<String>,
    /// The time of the heartbeat.
    pub(crate) now: Time,
}

/// Numbers of devices by resource.
pub(crate) type Counts = Arc<BTreeMap<ResourceName, ResourceCount>>;

/// Devices of the node.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceFacts {
    /// What there is; `None` until that is known.
    pub(crate) present: Option<Counts>,
    /// Resources that this process has shown before and that are gone. They are shown as 0, not left
    /// out: that tells them from resources that somebody else added to the Node object.
    pub(crate) gone: BTreeSet<ResourceName>,
}

impl DeviceFacts {
    /// Takes in what there is now.
    pub(crate) fn replace(&mut self, present: Option<Counts>) {
        let Some(present) = present else {
            return;
        };
        if let Some(before) = &self.present {
            self.gone.extend(before.keys().cloned());
        }
        self.gone.retain(|name| !present.contains_key(name));
        self.present = Some(present);
    }
}

/// Something that shows in the status for the first time, for the event log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusEvent {
    pub(crate) kind: EventKind,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl StatusEvent {
    /// Kubernetes 1.37: one sentence for all changes of a node's state, all of type Normal.
    pub(crate) fn state(node: &str, reason: &'static str) -> Self {
        Self {
            kind: EventKind::Normal,
            reason,
            message: format!("Node {node} status is now: {reason}"),
        }
    }
}

/// A time as the API writes it.
pub(crate) fn api_time(time: Time) -> ApiTime {
    ApiTime(timestamp(time))
}

/// A time as a timestamp; the far ends of time become the epoch.
pub(crate) fn timestamp(time: Time) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or_default()
}
