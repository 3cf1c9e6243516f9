//! A manifest into what decisions read. Named ports become numbers here.

mod api;
mod probes;

pub(crate) use api::{common, from_api};

pub(super) use probes::port;

use std::time::Duration;

use agent_core::{
    ContainerName, ContainerWant, ImageName, ImageVolume, PodName, PodUid, PodWant, PullPolicy,
    Quantity, ResourceName, RestartPolicy, RestartRule,
};
use k8s_openapi::api::core::v1::{Container, ContainerRestartRule, Pod, PodSpec, Volume};

use super::container_hash;

/// Translates a static pod. Its fields have been checked before, so that nothing has to be refused here.
pub(super) fn pod(pod: &Pod) -> PodWant {
    let metadata = &pod.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let empty = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&empty);
    PodWant {
        // The API alone can add these to a pod that runs.
        ephemeral: Vec::new(),
        deletion: None,
        over: None,
        needs: super::needs::needs(pod),
        started_at: None,
        restarts: Default::default(),
        uid: PodUid::new(metadata.uid.as_deref().unwrap_or_default()),
        name: PodName::new(namespace, metadata.name.as_deref().unwrap_or_default()),
        is_static: true,
        host_network: spec.host_network == Some(true),
        restart: restart_policy(spec.restart_policy.as_deref()).unwrap_or(RestartPolicy::Always),
        grace: seconds(spec.termination_grace_period_seconds.unwrap_or(30)),
        active_deadline: spec.active_deadline_seconds.map(seconds),
        init: spec
            .init_containers
            .iter()
            .flatten()
            .map(|each| container(each, spec))
            .collect(),
        containers: spec
            .containers
            .iter()
            .map(|each| container(each, spec))
            .collect(),
    }
}

fn container(container: &Container, spec: &PodSpec) -> ContainerWant {
    let image = container.image.as_deref().unwrap_or_default();
    let lifecycle = container.lifecycle.as_ref();
    let hook = |handler| probes::hook(handler, container);
    ContainerWant {
        name: ContainerName::new(&container.name),
        image: ImageName::new(image),
        hash: container_hash::container_hash(&container.name, image),
        pull: pull_policy(container.image_pull_policy.as_deref()),
        image_volumes: image_volumes(container, spec),
        restart: restart_policy(container.restart_policy.as_deref()),
        restart_rules: restart_rules(container),
        probes: probes::all(container),
        post_start: lifecycle
            .and_then(|lifecycle| lifecycle.post_start.as_ref())
            .map(hook),
        pre_stop: lifecycle
            .and_then(|lifecycle| lifecycle.pre_stop.as_ref())
            .map(hook),
        devices: devices(container),
    }
}

fn pull_policy(text: Option<&str>) -> PullPolicy {
    match text {
        Some("Always") => PullPolicy::Always,
        Some("Never") => PullPolicy::Never,
        _ => PullPolicy::IfNotPresent,
    }
}

/// Each volume once, however often the container mounts it.
fn image_volumes(container: &Container, spec: &PodSpec) -> Vec<ImageVolume> {
    let mounts = || container.volume_mounts.iter().flatten();
    let of_volume = |volume: &Volume| {
        let source = volume.image.as_ref()?;
        let is_mounted = mounts().any(|mount| mount.name == volume.name);
        is_mounted.then(|| ImageVolume {
            volume: volume.name.clone(),
            image: ImageName::new(source.reference.as_deref().unwrap_or_default()),
            pull: pull_policy(source.pull_policy.as_deref()),
        })
    };
    spec.volumes
        .iter()
        .flatten()
        .filter_map(of_volume)
        .collect()
}

fn restart_policy(text: Option<&str>) -> Option<RestartPolicy> {
    match text? {
        "Always" => Some(RestartPolicy::Always),
        "OnFailure" => Some(RestartPolicy::OnFailure),
        "Never" => Some(RestartPolicy::Never),
        _ => None,
    }
}

fn restart_rules(container: &Container) -> Vec<RestartRule> {
    let rules = container.restart_policy_rules.iter().flatten();
    let rule = |rule: &ContainerRestartRule| {
        let on = rule.exit_codes.as_ref()?;
        Some(RestartRule {
            within: on.operator == "In",
            codes: on.values.clone().unwrap_or_default(),
            all: rule.action == "RestartAllContainers",
        })
    };
    rules.filter_map(rule).collect()
}

/// What `resources.limits` asks of extended resources, zero left out.
fn devices(container: &Container) -> Vec<(ResourceName, u32)> {
    let limits = container
        .resources
        .iter()
        .filter_map(|resources| resources.limits.as_ref());
    let count = |(name, amount): (
        &String,
        &k8s_openapi::apimachinery::pkg::api::resource::Quantity,
    )| {
        let amount: Quantity = amount.0.parse().ok()?;
        let count = u32::try_from(amount.value())
            .ok()
            .filter(|count| *count > 0)?;
        is_extended(name).then(|| (ResourceName::new(name), count))
    };
    limits.flatten().filter_map(count).collect()
}

/// An extended resource has a domain that is not Kubernetes' own.
pub(super) fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
