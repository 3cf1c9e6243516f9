//! The sandbox's configuration.

use agent_loops::ports::SandboxSpec;
use proto::cri::security_profile::ProfileType;
use proto::cri::{
    Int64Value, LinuxPodSandboxConfig, LinuxSandboxSecurityContext, PodSandboxConfig,
    PodSandboxMetadata,
};

use super::dns::dns;
use super::error::ConfigError;
use super::hostname::hostname;
use super::input::PodInput;
use super::namespaces::namespaces;
use super::pod_resources;
use super::ports::port_mappings;
use super::profile::{plain, selinux};
use super::security::{groups_policy, volume_groups};
use super::settings::NodeSettings;
use crate::labels;

/// Configuration of a sandbox that is to be made.
pub(crate) fn sandbox_config(
    spec: &SandboxSpec,
    node: &NodeSettings,
) -> Result<PodSandboxConfig, ConfigError> {
    let pod = PodInput::new(&spec.pod, &spec.prepared, &spec.references, node)?;
    of(&pod, spec.attempt)
}

/// The handler of the pod's RuntimeClass; empty: the default one.
pub(crate) fn runtime_handler(spec: &SandboxSpec) -> Result<String, ConfigError> {
    let of_pod = spec.pod.manifest.spec.as_ref();
    let class = of_pod.and_then(|of_pod| of_pod.runtime_class_name.as_ref());
    match (
        class.filter(|class| !class.is_empty()),
        &spec.references.runtime_handler,
    ) {
        (None, _) => Ok(String::new()),
        (Some(_), Some(Ok(handler))) => Ok(handler.clone()),
        (Some(_), Some(Err(fail))) => Err(ConfigError::Reference(fail.clone())),
        (Some(class), None) => Err(ConfigError::RuntimeClass(class.clone())),
    }
}

/// Whether the pod has a user namespace of its own, which not every handler can make.
pub(crate) fn wants_user_namespace(spec: &SandboxSpec) -> bool {
    let of_pod = spec.pod.manifest.spec.as_ref();
    of_pod.is_some_and(|of_pod| of_pod.host_users == Some(false))
}

/// The same for every container in the sandbox: runtimes read log folder and cgroup parent there.
pub(crate) fn of(pod: &PodInput<'_>, attempt: u32) -> Result<PodSandboxConfig, ConfigError> {
    let metadata = PodSandboxMetadata {
        name: pod.want.name.name.to_string(),
        namespace: pod.want.name.namespace.to_string(),
        uid: pod.want.uid.to_string(),
        attempt,
    };
    Ok(PodSandboxConfig {
        metadata: Some(metadata),
        hostname: hostname(pod)?,
        log_directory: pod.prepared.log_directory.to_string_lossy().into_owned(),
        dns_config: Some(dns(pod)),
        port_mappings: port_mappings(pod)?,
        labels: labels::of_sandbox(pod.want, pod.metadata),
        annotations: labels::of_pod(pod.want, pod.metadata),
        linux: Some(linux(pod)?),
        windows: None,
    })
}

fn linux(pod: &PodInput<'_>) -> Result<LinuxPodSandboxConfig, ConfigError> {
    let sysctls = pod.security().and_then(|context| context.sysctls.as_ref());
    let sysctls = sysctls.into_iter().flatten();
    Ok(LinuxPodSandboxConfig {
        cgroup_parent: pod.prepared.cgroup_parent.clone(),
        security_context: Some(security(pod)?),
        sysctls: sysctls
            .map(|sysctl| (sysctl.name.clone(), sysctl.value.clone()))
            .collect(),
        overhead: Some(pod_resources::overhead(pod)?),
        resources: Some(pod_resources::of_pod(pod)?),
    })
}

fn security(pod: &PodInput<'_>) -> Result<LinuxSandboxSecurityContext, ConfigError> {
    let mut security = LinuxSandboxSecurityContext {
        namespace_options: Some(namespaces(pod)?),
        privileged: pod.containers().any(|container| {
            container
                .security_context
                .as_ref()
                .and_then(|own| own.privileged)
                == Some(true)
        }),
        // The pause process needs no more, whatever the containers have.
        seccomp: Some(plain(ProfileType::RuntimeDefault)),
        ..Default::default()
    };
    let Some(context) = pod.security() else {
        return Ok(security);
    };
    security.run_as_user = context.run_as_user.map(|value| Int64Value { value });
    // The runtime refuses a group without a user.
    let group = context
        .run_as_group
        .filter(|_| context.run_as_user.is_some());
    security.run_as_group = group.map(|value| Int64Value { value });
    security.supplemental_groups.extend(context.fs_group);
    security.supplemental_groups.extend(volume_groups(pod));
    security
        .supplemental_groups
        .extend(context.supplemental_groups.iter().flatten());
    security.supplemental_groups_policy = groups_policy(context)?.into();
    security.selinux_options = context.se_linux_options.as_ref().map(selinux);
    Ok(security)
}

#[cfg(test)]
mod tests;
