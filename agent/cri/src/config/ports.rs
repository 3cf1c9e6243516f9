//! Ports of the host that lead into the pod.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, ContainerPort};
use proto::cri::{PortMapping, Protocol};

use super::error::ConfigError;
use super::input::PodInput;

/// Ports of all main containers; the runtime maps those with a host port. Within a container a name,
/// or for unnamed ones the whole entry by address family, counts once.
pub(crate) fn port_mappings(pod: &PodInput<'_>) -> Result<Vec<PortMapping>, ConfigError> {
    let mut mappings = Vec::new();
    for container in &pod.spec.containers {
        for port in unique(container) {
            mappings.push(PortMapping {
                protocol: i32::from(protocol(port)?),
                container_port: port.container_port,
                host_port: port.host_port.unwrap_or(0),
                host_ip: port.host_ip.clone().unwrap_or_default(),
            });
        }
    }
    Ok(mappings)
}

fn unique(container: &Container) -> impl Iterator<Item = &ContainerPort> {
    let mut seen = BTreeSet::new();
    let ports = container.ports.iter().flatten();
    ports.filter(move |port| {
        let name = match port.name.as_deref() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => {
                let ip = port.host_ip.as_deref().unwrap_or("");
                let protocol = port.protocol.as_deref().unwrap_or("TCP");
                let host = port.host_port.unwrap_or(0);
                format!("{ip}-{protocol}:{}:{host}", port.container_port)
            }
        };
        seen.insert(name)
    })
}

fn protocol(port: &ContainerPort) -> Result<Protocol, ConfigError> {
    match port.protocol.as_deref() {
        None | Some("TCP" | "") => Ok(Protocol::Tcp),
        Some("UDP") => Ok(Protocol::Udp),
        Some("SCTP") => Ok(Protocol::Sctp),
        Some(other) => Err(ConfigError::Value {
            field: "ports.protocol",
            value: other.to_owned(),
            allowed: "TCP, UDP and SCTP",
        }),
    }
}

#[cfg(test)]
mod tests;
