//! Probes and hooks.

use std::time::Duration;

use agent_core::{Check, Hook, HttpGet, Probe, Probes};
use k8s_openapi::api::core::v1::{Container, HTTPGetAction, LifecycleHandler, Probe as Manifest};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

pub(super) fn all(container: &Container) -> Probes {
    let probe = |manifest: &Option<Manifest>| {
        manifest
            .as_ref()
            .and_then(|manifest| probe(manifest, container))
    };
    Probes {
        startup: probe(&container.startup_probe),
        liveness: probe(&container.liveness_probe),
        readiness: probe(&container.readiness_probe),
    }
}

fn probe(manifest: &Manifest, container: &Container) -> Option<Probe> {
    let seconds = |value: Option<i32>, default| span(value.unwrap_or(default).into());
    let times = |value: Option<i32>, default| {
        value
            .and_then(|value| u32::try_from(value).ok())
            .filter(|value| *value > 0)
            .unwrap_or(default)
    };
    Some(Probe {
        check: check(manifest, container)?,
        initial_delay: seconds(manifest.initial_delay_seconds, 0),
        period: seconds(manifest.period_seconds, 10),
        timeout: seconds(manifest.timeout_seconds, 1),
        success_threshold: times(manifest.success_threshold, 1),
        failure_threshold: times(manifest.failure_threshold, 3),
        grace: manifest.termination_grace_period_seconds.map(span),
    })
}

fn check(manifest: &Manifest, container: &Container) -> Option<Check> {
    if let Some(exec) = &manifest.exec {
        return Some(Check::Exec(exec.command.clone().unwrap_or_default()));
    }
    if let Some(get) = &manifest.http_get {
        return http(get, container).map(Check::Http);
    }
    if let Some(tcp) = &manifest.tcp_socket {
        return Some(Check::Tcp {
            host: text(&tcp.host),
            port: port(&tcp.port, container)?,
        });
    }
    let grpc = manifest.grpc.as_ref()?;
    Some(Check::Grpc {
        port: u16::try_from(grpc.port).ok()?,
        service: grpc.service.clone().unwrap_or_default(),
    })
}

pub(super) fn hook(handler: &LifecycleHandler, container: &Container) -> Hook {
    if let Some(exec) = &handler.exec {
        return Hook::Exec(exec.command.clone().unwrap_or_default());
    }
    if let Some(sleep) = &handler.sleep {
        return Hook::Sleep(span(sleep.seconds));
    }
    let get = handler
        .http_get
        .as_ref()
        .and_then(|get| http(get, container));
    get.map_or(Hook::Invalid, Hook::Http)
}

fn http(get: &HTTPGetAction, container: &Container) -> Option<HttpGet> {
    let path = get.path.as_deref().unwrap_or_default();
    Some(HttpGet {
        tls: get.scheme.as_deref() == Some("HTTPS"),
        host: text(&get.host),
        port: port(&get.port, container)?,
        // Go joins host and path with the missing slash.
        path: if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        },
        headers: get
            .http_headers
            .iter()
            .flatten()
            .map(|header| (header.name.clone(), header.value.clone()))
            .collect(),
    })
}

/// Number of a port, by number or by its name among the container's ports.
pub(in crate::manifest) fn port(port: &IntOrString, container: &Container) -> Option<u16> {
    let number = match port {
        IntOrString::Int(number) => *number,
        IntOrString::String(name) => {
            let named = |port: &&k8s_openapi::api::core::v1::ContainerPort| {
                port.name.as_deref() == Some(name)
            };
            match container.ports.iter().flatten().find(named) {
                Some(port) => port.container_port,
                // A number in quotes is accepted, as by the stock kubelet.
                None => name.parse().ok()?,
            }
        }
    };
    u16::try_from(number).ok().filter(|number| *number > 0)
}

fn text(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.is_empty())
}

fn span(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
