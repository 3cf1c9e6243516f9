//! Containers of a pod by name, ephemeral ones among them.

use std::borrow::Cow;

use agent_core::ContainerName;
use k8s_openapi::api::core::v1::{Container, EphemeralContainer, Pod};

/// The container of that name, whatever its kind.
pub(crate) fn container<'a>(pod: &'a Pod, name: &ContainerName) -> Option<Cow<'a, Container>> {
    let spec = pod.spec.as_ref()?;
    let mut plain = spec
        .containers
        .iter()
        .chain(spec.init_containers.iter().flatten());
    let plain = plain.find(|container| container.name == name.as_str());
    if let Some(plain) = plain {
        return Some(Cow::Borrowed(plain));
    }
    let mut ephemeral = spec.ephemeral_containers.iter().flatten();
    let ephemeral = ephemeral.find(|container| container.name == name.as_str());
    ephemeral.map(|found| Cow::Owned(of_ephemeral(found)))
}

/// What of an ephemeral container concerns the host, in the words of any other.
fn of_ephemeral(ephemeral: &EphemeralContainer) -> Container {
    let EphemeralContainer {
        name,
        env,
        env_from,
        resources,
        security_context,
        termination_message_path,
        termination_message_policy,
        volume_devices,
        volume_mounts,
        ..
    } = ephemeral.clone();
    Container {
        name,
        env,
        env_from,
        resources,
        security_context,
        termination_message_path,
        termination_message_policy,
        volume_devices,
        volume_mounts,
        ..Container::default()
    }
}
