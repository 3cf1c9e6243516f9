//! The container's configuration.

use std::collections::BTreeMap;

use agent_core::expand;
use agent_loops::ports::{ContainerSpec, MountSource, PreparedMount, Propagation};
use proto::cri::{
    CdiDevice, ContainerConfig, ContainerMetadata, CreateContainerRequest, Device, ImageSpec,
    LinuxContainerConfig, LinuxContainerSecurityContext, Mount, MountPropagation, NamespaceMode,
};

use super::env::Environment;
use super::error::ConfigError;
use super::input::PodInput;
use super::kernel::Kernel;
use super::namespaces::mappings;
use super::resources::resources;
use super::sandbox;
use super::security::security;
use super::settings::NodeSettings;
use super::stop_signal::stop_signal;
use crate::labels;

/// What the runtime is asked about before a container is made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers<'a> {
    /// It resolves CDI device names; otherwise devices are spelled out.
    pub(crate) cdi: bool,
    /// The running container that `target` asks for.
    pub(crate) target: Option<&'a str>,
}

/// The container whose processes an ephemeral container wants to see, if it names one.
pub(crate) fn target(spec: &ContainerSpec) -> Option<&str> {
    let of_pod = spec.pod.manifest.spec.as_ref()?;
    let mut all = of_pod.ephemeral_containers.iter().flatten();
    let own = all.find(|each| each.name == spec.container.as_str())?;
    let name = own.target_container_name.as_deref();
    name.filter(|name| !name.is_empty())
}

/// The request to make a container.
pub(crate) fn container_request(
    spec: &ContainerSpec,
    node: &NodeSettings,
    kernel: &Kernel,
    answers: Answers<'_>,
) -> Result<CreateContainerRequest, ConfigError> {
    let pod = PodInput::new(&spec.pod, &spec.prepared, &spec.references, node)?;
    Ok(CreateContainerRequest {
        pod_sandbox_id: spec.sandbox.to_string(),
        config: Some(config(&pod, spec, kernel, answers)?),
        sandbox_config: Some(sandbox::of(&pod, spec.sandbox_attempt)?),
    })
}

fn config(
    pod: &PodInput<'_>,
    spec: &ContainerSpec,
    kernel: &Kernel,
    answers: Answers<'_>,
) -> Result<ContainerConfig, ConfigError> {
    let container = &*pod.container(spec.container.as_str())?;
    let cdi = answers.cdi;
    let name = || container.name.clone();
    let environment = Environment::of(pod, container, spec, cdi)?;
    let expanded = |words: &Option<Vec<String>>| -> Vec<String> {
        let words = words.iter().flatten();
        words
            .map(|word| expand(word, |variable| environment.get(variable)))
            .collect()
    };
    let image = ImageSpec {
        image: spec.image.reference.clone(),
        user_specified_image: container.image.clone().unwrap_or_default(),
        ..Default::default()
    };
    Ok(ContainerConfig {
        metadata: Some(ContainerMetadata {
            name: name(),
            attempt: spec.attempt,
        }),
        image: Some(image),
        command: expanded(&container.command),
        args: expanded(&container.args),
        working_dir: container.working_dir.clone().unwrap_or_default(),
        mounts: mounts(spec, cdi),
        stop_signal: stop_signal(container)?.into(),
        devices: if cdi { Vec::new() } else { devices(spec) },
        cdi_devices: if cdi { cdi_devices(spec) } else { Vec::new() },
        labels: labels::of_container(pod.want, &container.name),
        annotations: labels::annotations_of_container(
            pod.want,
            pod.metadata,
            container,
            spec.attempt,
            &spec
                .grants
                .iter()
                .flat_map(|grant| &grant.devices)
                .collect::<Vec<_>>(),
        ),
        log_path: format!("{}/{}.log", container.name, spec.attempt),
        stdin: container.stdin.unwrap_or(false),
        stdin_once: container.stdin_once.unwrap_or(false),
        tty: container.tty.unwrap_or(false),
        linux: Some(LinuxContainerConfig {
            resources: Some(resources(pod, container, kernel)?),
            security_context: Some(looking_into(
                security(pod, container, &spec.image, kernel)?,
                answers.target,
            )),
        }),
        envs: environment.into_pairs(),
        ..Default::default()
    })
}

/// With the processes of another container, where the containers of the pod do not share them anyway.
fn looking_into(
    mut security: LinuxContainerSecurityContext,
    target: Option<&str>,
) -> LinuxContainerSecurityContext {
    if let (Some(target), Some(options)) = (target, &mut security.namespace_options)
        && options.pid() == NamespaceMode::Container
    {
        options.set_pid(NamespaceMode::Target);
        options.target_id = target.to_owned();
    }
    security
}

fn mounts(spec: &ContainerSpec, cdi: bool) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = spec
        .own
        .mounts
        .iter()
        .map(|prepared| mount(prepared, &spec.image_volumes))
        .collect();
    if !cdi {
        let plain = spec.grants.iter().flat_map(|grant| &grant.plain.mounts);
        mounts.extend(plain.map(|(host_path, container_path)| Mount {
            container_path: container_path.clone(),
            host_path: host_path.clone(),
            readonly: true,
            ..Default::default()
        }));
    }
    if let Some(range) = spec.prepared.user_namespace {
        for mount in &mut mounts {
            mount.uid_mappings = mappings(range);
            mount.gid_mappings = mappings(range);
        }
    }
    mounts
}

/// `images`: references of mounted images, by volume.
fn mount(prepared: &PreparedMount, images: &BTreeMap<String, String>) -> Mount {
    let propagation = match prepared.propagation {
        Propagation::Private => MountPropagation::PropagationPrivate,
        Propagation::HostToContainer => MountPropagation::PropagationHostToContainer,
        Propagation::Bidirectional => MountPropagation::PropagationBidirectional,
    };
    let mount = Mount {
        container_path: prepared.container_path.clone(),
        readonly: prepared.read_only,
        recursive_read_only: prepared.recursive_read_only,
        propagation: propagation.into(),
        ..Default::default()
    };
    match &prepared.source {
        MountSource::Path(path) => Mount {
            host_path: path.to_string_lossy().into_owned(),
            ..mount
        },
        MountSource::Image {
            volume,
            reference,
            sub_path,
        } => Mount {
            image: Some(ImageSpec {
                image: images.get(volume).unwrap_or(reference).clone(),
                user_specified_image: reference.clone(),
                ..Default::default()
            }),
            image_sub_path: sub_path.clone(),
            ..mount
        },
    }
}

fn devices(spec: &ContainerSpec) -> Vec<Device> {
    let nodes = spec.grants.iter().flat_map(|grant| &grant.plain.nodes);
    let device = |(host_path, container_path, permissions): &(String, String, String)| Device {
        container_path: container_path.clone(),
        host_path: host_path.clone(),
        permissions: permissions.clone(),
    };
    nodes.map(device).collect()
}

fn cdi_devices(spec: &ContainerSpec) -> Vec<CdiDevice> {
    let names = spec.grants.iter().flat_map(|grant| &grant.cdi);
    names
        .map(|name| CdiDevice {
            name: name.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
