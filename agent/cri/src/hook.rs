//! A preStop handler as it comes back from a container's annotations.

use std::time::Duration;

use agent_core::{Hook, HttpGet};
use k8s_openapi::api::core::v1::{ContainerPort, HTTPGetAction, LifecycleHandler};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The hook that a handler describes. `ports` are those of the container, for a port given by name.
///
/// Kubernetes 1.37: exec, httpGet and sleep work; tcpSocket is accepted and always fails.
pub(crate) fn read(handler: &LifecycleHandler, ports: &[ContainerPort]) -> Hook {
    if let Some(exec) = &handler.exec {
        return Hook::Exec(exec.command.clone().unwrap_or_default());
    }
    if let Some(get) = &handler.http_get {
        return http(get, ports).map_or(Hook::Invalid, Hook::Http);
    }
    match &handler.sleep {
        Some(sleep) => Hook::Sleep(Duration::from_secs(
            u64::try_from(sleep.seconds).unwrap_or(0),
        )),
        None => Hook::Invalid,
    }
}

fn http(get: &HTTPGetAction, ports: &[ContainerPort]) -> Option<HttpGet> {
    let port = match &get.port {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => match text.parse() {
            Ok(number) => number,
            Err(_) => {
                ports
                    .iter()
                    .find(|port| port.name.as_ref() == Some(text))?
                    .container_port
            }
        },
    };
    let path = get.path.as_deref().unwrap_or("/");
    Some(HttpGet {
        tls: get.scheme.as_deref() == Some("HTTPS"),
        host: get.host.clone().filter(|host| !host.is_empty()),
        port: u16::try_from(port).ok()?,
        path: if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        },
        headers: get
            .http_headers
            .iter()
            .flatten()
            .map(|h| (h.name.clone(), h.value.clone()))
            .collect(),
    })
}
