//! What a container's process may do.

use std::collections::BTreeSet;

use agent_loops::ports::ImageFacts;
use k8s_openapi::api::core::v1::{Capabilities, Container, PodSecurityContext};
use proto::cri::{Capability, Int64Value, LinuxContainerSecurityContext, SupplementalGroupsPolicy};

use super::error::ConfigError;
use super::input::PodInput;
use super::kernel::Kernel;
use super::namespaces::namespaces;
use super::profile::{apparmor, seccomp, selinux};

/// Paths below /proc that a container may read but not change, as in Kubernetes 1.37.
const READONLY_PATHS: [&str; 5] = [
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

/// Security context of a container. A field of the container outranks the pod's.
pub(crate) fn security(
    pod: &PodInput<'_>,
    container: &Container,
    image: &ImageFacts,
    kernel: &Kernel,
) -> Result<LinuxContainerSecurityContext, ConfigError> {
    let own = container.security_context.clone().unwrap_or_default();
    let of_pod = pod.security().cloned().unwrap_or_default();
    let (user, username) = user(pod, container, image)?;
    let unmasked = own.proc_mount.as_deref() == Some("Unmasked");
    let group = own.run_as_group.or(of_pod.run_as_group);
    let mut groups: Vec<i64> = of_pod.fs_group.into_iter().collect();
    groups.extend(of_pod.supplemental_groups.iter().flatten());
    groups.extend(volume_groups(pod));
    Ok(LinuxContainerSecurityContext {
        capabilities: own.capabilities.map(capabilities),
        privileged: own.privileged.unwrap_or(false),
        namespace_options: Some(namespaces(pod)?),
        selinux_options: own
            .se_linux_options
            .or(of_pod.se_linux_options.clone())
            .as_ref()
            .map(selinux),
        run_as_user: user.map(|value| Int64Value { value }),
        run_as_group: group.map(|value| Int64Value { value }),
        run_as_username: username,
        readonly_rootfs: own.read_only_root_filesystem.unwrap_or(false),
        supplemental_groups: groups,
        supplemental_groups_policy: groups_policy(&of_pod)?.into(),
        no_new_privs: own.allow_privilege_escalation == Some(false),
        masked_paths: if unmasked {
            Vec::new()
        } else {
            kernel.masked_paths.clone()
        },
        readonly_paths: if unmasked {
            Vec::new()
        } else {
            READONLY_PATHS.map(str::to_owned).into()
        },
        seccomp: Some(seccomp(pod, container)?),
        apparmor: apparmor(pod, container)?,
        ..Default::default()
    })
}

/// User number, or user name where the image has only that: `runAsUser`, else the image's user, else
/// root. Checks `runAsNonRoot`.
fn user(
    pod: &PodInput<'_>,
    container: &Container,
    image: &ImageFacts,
) -> Result<(Option<i64>, String), ConfigError> {
    let own = container.security_context.as_ref();
    let of_pod = pod.security();
    let wanted = own.and_then(|own| own.run_as_user);
    let wanted = wanted.or(of_pod.and_then(|of_pod| of_pod.run_as_user));
    let non_root = own.and_then(|own| own.run_as_non_root);
    let non_root = non_root.or(of_pod.and_then(|of_pod| of_pod.run_as_non_root)) == Some(true);
    let place = || pod.place(&container.name);
    match (wanted, image.uid) {
        (Some(0), _) if non_root => Err(ConfigError::RunAsRoot { place: place() }),
        (None, Some(0)) if non_root => Err(ConfigError::ImageRunsAsRoot { place: place() }),
        (Some(user), _) | (None, Some(user)) => Ok((Some(user), String::new())),
        (None, None) if !image.username.is_empty() && non_root => Err(ConfigError::UserName {
            place: place(),
            user: image.username.clone(),
        }),
        (None, None) if !image.username.is_empty() => Ok((None, image.username.clone())),
        (None, None) if non_root => Err(ConfigError::ImageRunsAsRoot { place: place() }),
        (None, None) => Ok((Some(0), String::new())),
    }
}

/// Groups that bound volumes ask for, where the pod does not have them anyway.
pub(crate) fn volume_groups(pod: &PodInput<'_>) -> Vec<i64> {
    const GROUP: &str = "pv.beta.kubernetes.io/gid";
    let own = pod
        .security()
        .and_then(|own| own.supplemental_groups.as_ref());
    let has = |group: &i64| own.is_some_and(|own| own.contains(group));
    let volumes = pod.references.claims.values().flatten();
    let annotations = volumes.filter_map(|volume| volume.metadata.annotations.as_ref());
    let groups = annotations.filter_map(|annotations| annotations.get(GROUP)?.parse().ok());
    let groups: BTreeSet<i64> = groups.filter(|group| !has(group)).collect();
    groups.into_iter().collect()
}

/// `supplementalGroupsPolicy`: by default the image's groups are added.
pub(crate) fn groups_policy(
    context: &PodSecurityContext,
) -> Result<SupplementalGroupsPolicy, ConfigError> {
    match context.supplemental_groups_policy.as_deref() {
        None | Some("Merge") => Ok(SupplementalGroupsPolicy::Merge),
        Some("Strict") => Ok(SupplementalGroupsPolicy::Strict),
        Some(other) => Err(ConfigError::Value {
            field: "securityContext.supplementalGroupsPolicy",
            value: other.to_owned(),
            allowed: "Merge and Strict",
        }),
    }
}

fn capabilities(capabilities: Capabilities) -> Capability {
    Capability {
        add_capabilities: capabilities.add.unwrap_or_default(),
        drop_capabilities: capabilities.drop.unwrap_or_default(),
        add_ambient_capabilities: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
