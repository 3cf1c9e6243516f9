//! The status of a pod as the API has it.
//!
//! Fields, reasons and texts are those of the Kubernetes 1.37 kubelet.

mod addresses;
mod conditions;
mod containers;
mod history;
mod resources;
mod terminal;

use std::collections::BTreeSet;
use std::net::IpAddr;

use agent_core::{DeviceId, Phase, Time};
use agent_loops::PodSnapshot;
use k8s_openapi::api::core::v1::{Pod, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;
use k8s_openapi::jiff::Timestamp;

use crate::pods::is_static;

/// What statuses say of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Addresses of the node, the primary one first; its family is the primary one of pods, too.
    /// Empty while they are not known.
    pub host_ips: Vec<IpAddr>,
    /// Name of the runtime in container IDs, `containerd`.
    pub runtime: String,
    /// Read-only mounts can be made so that mounts below them are read-only, too.
    pub recursive_read_only: bool,
    /// Devices that their owner calls unhealthy, among all that pods may hold.
    pub unhealthy_devices: BTreeSet<DeviceId>,
}

/// What one rendering reads.
#[derive(Clone, Copy, Debug)]
struct Scene<'a> {
    snapshot: &'a PodSnapshot,
    spec: &'a PodSpec,
    /// What the API has.
    previous: &'a PodStatus,
    /// What was rendered last, which may not have been written yet.
    earlier: Option<&'a PodStatus>,
    node: &'a NodeFacts,
    is_static: bool,
    deleted: bool,
    /// `metadata.generation` of the manifest that the agent acts on; `None` for a static pod, whose
    /// mirror has a generation of its own.
    generation: Option<i64>,
    now: Time,
}

/// The status of a pod. `pod` is what the API has, or the manifest where there is no API: of it the
/// spec and the status are read, and what others wrote into that is kept. `earlier` is what was
/// rendered last for the same pod: conditions keep their time while nothing can be written.
pub fn render(
    snapshot: &PodSnapshot,
    pod: &Pod,
    earlier: Option<&PodStatus>,
    node: &NodeFacts,
    now: Time,
) -> PodStatus {
    let (empty, blank) = (PodSpec::default(), PodStatus::default());
    let manifest = snapshot.manifest.as_deref().unwrap_or(pod);
    let is_static = is_static(manifest);
    let scene = Scene {
        snapshot,
        spec: pod.spec.as_ref().unwrap_or(&empty),
        previous: pod.status.as_ref().unwrap_or(&blank),
        earlier,
        node,
        is_static,
        deleted: pod.metadata.deletion_timestamp.is_some(),
        generation: manifest.metadata.generation.filter(|_| !is_static),
        now,
    };
    let mut status = scene.previous.clone();
    containers::fill(&scene, &mut status);
    let phase = terminal::end(&scene, &mut status);
    conditions::fill(&scene, &mut status, phase);
    terminal::settle_phase(&scene, &mut status, phase);
    addresses::fill(&scene, &mut status);
    resources::fill(&scene, &mut status);
    if status.start_time.is_none() {
        status.start_time = api_time(snapshot.status.started_at);
    }
    status.observed_generation = scene.generation.max(scene.previous.observed_generation);
    status
}

/// A time in the API's seconds.
fn api_time(time: Time) -> Option<ApiTime> {
    let second = time.0.div_euclid(1_000_000_000);
    Timestamp::from_second(second).ok().map(ApiTime)
}

fn phase_text(phase: Phase) -> &'static str {
    match phase {
        Phase::Pending => "Pending",
        Phase::Running => "Running",
        Phase::Succeeded => "Succeeded",
        Phase::Failed => "Failed",
    }
}

/// The phase of a status, if it is a final one.
fn final_phase(status: &PodStatus) -> Option<Phase> {
    match status.phase.as_deref()? {
        "Succeeded" => Some(Phase::Succeeded),
        "Failed" => Some(Phase::Failed),
        _ => None,
    }
}

/// An empty text is an absent one.
fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
