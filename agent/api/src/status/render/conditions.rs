//! Conditions of a pod: those that the kubelet owns are rendered, all others stay as they are.

use agent_core::Phase;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, PodCondition, PodStatus};

use super::{Scene, api_time};

/// What a condition says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Verdict {
    holds: bool,
    reason: &'static str,
    message: String,
}

impl Verdict {
    fn yes() -> Self {
        Self {
            holds: true,
            ..Self::default()
        }
    }

    fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            holds: false,
            reason,
            message: message.into(),
        }
    }
}

/// Fills the kubelet's conditions. Statuses of containers are there; `phase` is the pod's own, which
/// may not be told yet.
pub(super) fn fill(scene: &Scene<'_>, status: &mut PodStatus, phase: Phase) {
    let containers_ready = containers_ready(scene, status, phase);
    let ready = ready(scene, status, &containers_ready);
    let initialized = initialized(scene, status, phase);
    for (name, verdict) in [
        ("PodReadyToStartContainers", ready_to_start(scene)),
        ("Initialized", initialized),
        ("Ready", ready),
        ("ContainersReady", containers_ready),
        ("PodScheduled", Verdict::yes()),
    ] {
        set(scene, status, name, verdict);
    }
    if may_restart_all(scene) {
        set(scene, status, RESTARTING, restarting(scene, phase));
    }
}

/// A pod with a final phase is not ready, whatever was found of its containers.
pub(super) fn not_ready(scene: &Scene<'_>, status: &mut PodStatus, phase: Phase) {
    for name in ["Ready", "ContainersReady"] {
        let mut all = status.conditions.iter().flatten();
        if all.any(|each| each.type_ == name && each.status == "True") {
            let verdict = ended(phase);
            set(scene, status, name, verdict);
        }
    }
}

/// Kubernetes 1.37: shown of pods with a rule that restarts all containers.
const RESTARTING: &str = "AllContainersRestarting";

fn may_restart_all(scene: &Scene<'_>) -> bool {
    let init = scene.spec.init_containers.iter().flatten();
    let mut rules = init
        .chain(&scene.spec.containers)
        .flat_map(|container| container.restart_policy_rules.iter().flatten());
    rules.any(|rule| rule.action == "RestartAllContainers")
}

fn restarting(scene: &Scene<'_>, phase: Phase) -> Verdict {
    match phase {
        Phase::Succeeded | Phase::Failed => ended(phase),
        _ if scene.snapshot.status.restarting_all => Verdict {
            holds: true,
            reason: "RestartAllContainersStarted",
            message: "container exited with restart policy rule".to_owned(),
        },
        _ => Verdict::default(),
    }
}

fn ended(phase: Phase) -> Verdict {
    match phase {
        Phase::Succeeded => Verdict::no("PodCompleted", ""),
        _ => Verdict::no("PodFailed", ""),
    }
}

/// Writes one condition in its place. Its time moves only with its status.
fn set(scene: &Scene<'_>, status: &mut PodStatus, name: &str, verdict: Verdict) {
    let word = if verdict.holds { "True" } else { "False" };
    let before = |status: &PodStatus| {
        let mut all = status.conditions.iter().flatten();
        let same = all.find(|each| each.type_ == name && each.status == word);
        same.and_then(|same| same.last_transition_time.clone())
    };
    let condition = PodCondition {
        type_: name.to_owned(),
        status: word.to_owned(),
        reason: super::text(verdict.reason),
        message: super::text(&verdict.message),
        last_transition_time: before(scene.previous)
            .or_else(|| scene.earlier.and_then(before))
            .or_else(|| api_time(scene.now)),
        last_probe_time: None,
        observed_generation: scene.generation,
    };
    let conditions = status.conditions.get_or_insert_default();
    match conditions.iter_mut().find(|each| each.type_ == name) {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}

fn ready_to_start(scene: &Scene<'_>) -> Verdict {
    let own = &scene.snapshot.status;
    if own.sandbox_ready {
        return Verdict::yes();
    }
    let had_one = !own.ips.is_empty()
        || own
            .init
            .iter()
            .chain(&own.containers)
            .any(|each| each.id.is_some());
    let message = if had_one {
        "pod sandbox is not ready"
    } else {
        "no pod sandbox exists"
    };
    Verdict::no("PodSandboxNotReady", message)
}

/// Names of containers that are unknown, and of those that are not as far as they should be.
#[derive(Debug, Default)]
struct Missing<'a> {
    unknown: Vec<&'a str>,
    lacking: Vec<&'a str>,
}

impl<'a> Missing<'a> {
    fn of(
        containers: impl Iterator<Item = &'a Container>,
        statuses: &[ContainerStatus],
        enough: impl Fn(&Container, &ContainerStatus) -> bool,
    ) -> Self {
        let mut missing = Self::default();
        for container in containers {
            let status = statuses.iter().find(|each| each.name == container.name);
            match status {
                None => missing.unknown.push(&container.name),
                Some(status) if !enough(container, status) => missing.lacking.push(&container.name),
                Some(_) => {}
            }
        }
        missing
    }

    /// Both in words, empty when nothing is missing; `word` tells what is lacking.
    fn message(&self, word: &str) -> String {
        let part = |names: &[&str], word: &str| {
            let names = names.join(" ");
            format!("containers with {word} status: [{names}]")
        };
        let mut parts = Vec::new();
        if !self.unknown.is_empty() {
            parts.push(part(&self.unknown, "unknown"));
        }
        if !self.lacking.is_empty() {
            parts.push(part(&self.lacking, word));
        }
        parts.join(", ")
    }
}

fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn containers_ready(scene: &Scene<'_>, status: &PodStatus, phase: Phase) -> Verdict {
    let all = all(status);
    if all.is_empty() {
        return Verdict::no("UnknownContainerStatuses", "");
    }
    let init = scene.spec.init_containers.iter().flatten();
    let long_lived = init
        .filter(|each| is_sidecar(each))
        .chain(&scene.spec.containers);
    let missing = Missing::of(long_lived, &all, |_, status| status.ready);
    if phase == Phase::Failed || (phase == Phase::Succeeded && missing.unknown.is_empty()) {
        return ended(phase);
    }
    let message = missing.message("unready");
    if message.is_empty() {
        Verdict::yes()
    } else {
        Verdict::no("ContainersNotReady", message)
    }
}

/// Ready needs the containers and every gate that the manifest names.
fn ready(scene: &Scene<'_>, status: &PodStatus, containers: &Verdict) -> Verdict {
    if !containers.holds {
        return containers.clone();
    }
    let closed = scene
        .spec
        .readiness_gates
        .iter()
        .flatten()
        .filter_map(|gate| {
            let name = &gate.condition_type;
            let mut all = status.conditions.iter().flatten();
            match all.find(|each| each.type_ == *name) {
                None => Some(format!(
                    "corresponding condition of pod readiness gate {name:?} does not exist."
                )),
                Some(condition) if condition.status != "True" => Some(format!(
                    "the status of pod readiness gate {name:?} is not \"True\", but {}",
                    condition.status
                )),
                Some(_) => None,
            }
        });
    let closed: Vec<String> = closed.collect();
    if closed.is_empty() {
        Verdict::yes()
    } else {
        Verdict::no("ReadinessGatesNotReady", closed.join(", "))
    }
}

fn initialized(scene: &Scene<'_>, status: &PodStatus, phase: Phase) -> Verdict {
    let all = all(status);
    let init = scene.spec.init_containers.iter().flatten();
    if all.is_empty() && init.clone().next().is_some() {
        return Verdict::no("UnknownContainerStatuses", "");
    }
    let missing = Missing::of(init, &all, |container, status| {
        if is_sidecar(container) {
            status.started == Some(true)
        } else {
            status.ready
        }
    });
    if phase == Phase::Succeeded && missing.unknown.is_empty() {
        return Verdict {
            reason: "PodCompleted",
            ..Verdict::yes()
        };
    }
    let mut main = status.container_statuses.iter().flatten();
    let begun = main.any(|each| {
        let state = each.state.as_ref();
        state.is_some_and(|state| state.running.is_some() || state.terminated.is_some())
    });
    // Once initialized, a pod stays so: its init containers may run again all the same.
    let mut before = scene.previous.conditions.iter().flatten();
    let was = before.any(|each| each.type_ == "Initialized" && each.status == "True");
    let message = missing.message("incomplete");
    if begun || was || message.is_empty() {
        Verdict::yes()
    } else {
        Verdict::no("ContainersNotInitialized", message)
    }
}

fn all(status: &PodStatus) -> Vec<ContainerStatus> {
    let init = status.init_container_statuses.iter().flatten();
    init.chain(status.container_statuses.iter().flatten())
        .cloned()
        .collect()
}
