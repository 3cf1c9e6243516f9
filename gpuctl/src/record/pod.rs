//! One pod.

use proto::gpulet as wire;
use serde::Serialize;

use super::Moment;

/// One pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pod {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) phase: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) ready: bool,
    pub(crate) ips: Vec<String>,
    pub(crate) started_at: Option<Moment>,
    /// `waiting`, `running`, `stopping`, `cleaning` or `finished`.
    pub(crate) life: String,
    /// What the agent is doing or will do next about it.
    pub(crate) steps: Vec<Step>,
    /// File or source it came from.
    pub(crate) source: String,
    pub(crate) containers: Vec<Container>,
}

/// One thing that the agent does about a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step {
    pub(crate) action: String,
    pub(crate) why: String,
}

/// One container.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Container {
    pub(crate) name: String,
    /// `init`, `sidecar` or `main`.
    pub(crate) kind: String,
    pub(crate) image: String,
    pub(crate) id: String,
    /// `waiting`, `running` or `terminated`.
    pub(crate) state: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) ready: bool,
    pub(crate) restart_count: u32,
    /// Of the run that ended last.
    pub(crate) exit_code: Option<i32>,
    pub(crate) since: Option<Moment>,
    pub(crate) devices: Vec<Device>,
}

/// A device of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Device {
    pub(crate) resource: String,
    pub(crate) id: String,
    pub(crate) cdi_name: String,
}

impl Pod {
    /// `namespace/name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Why it runs, waits or was refused, in one sentence.
    pub(crate) fn verdict(&self) -> String {
        let began = self
            .containers
            .iter()
            .any(|container| !container.id.is_empty());
        let state = match (self.life.as_str(), self.phase.as_str()) {
            ("waiting", _) => "it waits",
            ("running", _) if self.ready => "it runs and is ready",
            ("running", _) => "it runs and is not ready",
            ("stopping", _) => "it is being stopped",
            ("cleaning", _) => "it has ended and is being cleaned up",
            (_, "Succeeded") => "it has ended well",
            (_, "Failed") if !began => "it was refused",
            (_, "Failed") => "it has failed",
            (life, _) => life,
        };
        let stuck = self.stuck();
        let told = match stuck {
            Some(container) if self.reason.is_empty() && self.message.is_empty() => {
                [&container.name, &container.reason, &container.message]
            }
            _ => [&String::new(), &self.reason, &self.message],
        };
        let told: Vec<&str> = told
            .iter()
            .map(|it| it.as_str())
            .filter(|it| !it.is_empty())
            .collect();
        match told.is_empty() {
            true => state.to_owned(),
            false => format!("{state}: {}", told.join(": ")),
        }
    }

    /// A container that waits for something or has failed, and says so.
    pub(crate) fn stuck(&self) -> Option<&Container> {
        self.containers.iter().find(|container| {
            let failed = container.state == "terminated" && container.exit_code.unwrap_or(0) != 0;
            (container.state == "waiting" || failed) && !container.reason.is_empty()
        })
    }

    /// Its devices, each once: init containers share theirs with the others.
    pub(crate) fn devices(&self) -> Vec<&Device> {
        let mut devices: Vec<&Device> = Vec::new();
        for device in self
            .containers
            .iter()
            .flat_map(|container| &container.devices)
        {
            if !devices
                .iter()
                .any(|other| (&other.resource, &other.id) == (&device.resource, &device.id))
            {
                devices.push(device);
            }
        }
        devices
    }
}

impl From<wire::Pod> for Pod {
    fn from(told: wire::Pod) -> Self {
        Self {
            namespace: told.namespace,
            name: told.name,
            uid: told.uid,
            phase: told.phase,
            reason: told.reason,
            message: told.message,
            ready: told.ready,
            ips: told.ips,
            started_at: Moment::told(told.started_at),
            life: told.life,
            steps: told.steps.into_iter().map(Step::from).collect(),
            source: told.source,
            containers: told.containers.into_iter().map(Container::from).collect(),
        }
    }
}

impl From<wire::Step> for Step {
    fn from(told: wire::Step) -> Self {
        Self {
            action: told.action,
            why: told.why,
        }
    }
}

impl From<wire::Container> for Container {
    fn from(told: wire::Container) -> Self {
        Self {
            name: told.name,
            kind: told.kind,
            image: told.image,
            id: told.id,
            state: told.state,
            reason: told.reason,
            message: told.message,
            ready: told.ready,
            restart_count: told.restart_count,
            exit_code: told.exit_code,
            since: Moment::told(told.since),
            devices: told.devices.into_iter().map(Device::from).collect(),
        }
    }
}

impl From<wire::Device> for Device {
    fn from(told: wire::Device) -> Self {
        Self {
            resource: told.resource,
            id: told.id,
            cdi_name: told.cdi_name,
        }
    }
}
