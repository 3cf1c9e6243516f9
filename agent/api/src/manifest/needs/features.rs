//! Features that a node has to declare for a pod (Kubernetes 1.37). The registry knows more of them; those
//! matter only to changes of running pods or to the scheduler.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PodSpec, VolumeMount};

use super::containers;

pub(super) fn of(spec: &PodSpec) -> BTreeSet<String> {
    let rows = [
        ("RestartAllContainersOnContainerExits", restarts_all(spec)),
        (
            "UserNamespacesHostNetworkSupport",
            spec.host_network == Some(true) && spec.host_users == Some(false),
        ),
        ("VolumeBindMountOptions", has_mount_options(spec)),
    ];
    let needed = rows.into_iter().filter(|(_, needed)| *needed);
    needed.map(|(name, _)| name.to_owned()).collect()
}

fn restarts_all(spec: &PodSpec) -> bool {
    containers(spec)
        .flat_map(|container| container.restart_policy_rules.iter().flatten())
        .any(|rule| rule.action == "RestartAllContainers")
}

fn has_mount_options(spec: &PodSpec) -> bool {
    let has = |mount: &VolumeMount| {
        let options = mount.bind_mount_options.as_ref();
        options.is_some_and(|options| !options.is_empty())
    };
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    containers(spec)
        .map(|each| &each.volume_mounts)
        .chain(ephemeral.map(|each| &each.volume_mounts))
        .flat_map(|mounts| mounts.iter().flatten())
        .any(has)
}
