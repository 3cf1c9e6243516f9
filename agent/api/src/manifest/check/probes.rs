//! Probes and hooks of one container.

use k8s_openapi::api::core::v1::{
    Container, ExecAction, HTTPGetAction, LifecycleHandler, Probe, TCPSocketAction,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Problems;
use super::container::Place;
use crate::manifest::want;

pub(super) fn check(place: &Place<'_>, container: &Container, problems: &mut Problems) {
    // A plain init container is over before anybody could ask it.
    let sidecar = container.restart_policy.as_deref() == Some("Always");
    let unasked = place.init && !sidecar;
    for (name, manifest) in [
        ("livenessProbe", &container.liveness_probe),
        ("readinessProbe", &container.readiness_probe),
        ("startupProbe", &container.startup_probe),
    ] {
        let Some(manifest) = manifest else { continue };
        let path = format!("{}.{name}", place.path);
        problems.when(unasked, &path, "only containers and sidecars may have it");
        probe(manifest, &path, container, problems);
        let once = manifest.success_threshold.is_some_and(|times| times != 1);
        if name == "readinessProbe" {
            let field = format!("{path}.terminationGracePeriodSeconds");
            let grace = manifest.termination_grace_period_seconds.is_some();
            problems.when(
                grace,
                field,
                "a readiness probe stops nothing, so it has no grace",
            );
        } else {
            problems.when(once, format!("{path}.successThreshold"), "it must be 1");
        }
    }
    let Some(lifecycle) = &container.lifecycle else {
        return;
    };
    for (name, handler) in [
        ("postStart", &lifecycle.post_start),
        ("preStop", &lifecycle.pre_stop),
    ] {
        let Some(handler) = handler else { continue };
        let path = format!("{}.lifecycle.{name}", place.path);
        problems.when(unasked, &path, "only containers and sidecars may have it");
        hook(handler, &path, place, container, problems);
    }
}

fn probe(probe: &Probe, path: &str, container: &Container, problems: &mut Problems) {
    for (name, value, low) in [
        ("initialDelaySeconds", probe.initial_delay_seconds, 0),
        ("timeoutSeconds", probe.timeout_seconds, 1),
        ("periodSeconds", probe.period_seconds, 1),
        ("successThreshold", probe.success_threshold, 1),
        ("failureThreshold", probe.failure_threshold, 1),
    ] {
        problems.range(
            value.map(i64::from),
            format!("{path}.{name}"),
            low,
            i64::MAX,
        );
    }
    let grace = probe.termination_grace_period_seconds;
    problems.range(
        grace,
        format!("{path}.terminationGracePeriodSeconds"),
        1,
        i64::MAX,
    );
    let kinds = [
        probe.exec.is_some(),
        probe.http_get.is_some(),
        probe.tcp_socket.is_some(),
        probe.grpc.is_some(),
    ];
    exactly_one(&kinds, path, "exec, httpGet, tcpSocket and grpc", problems);
    actions(
        &probe.exec,
        &probe.http_get,
        &probe.tcp_socket,
        path,
        container,
        problems,
    );
    if let Some(grpc) = &probe.grpc {
        problems.range(
            Some(grpc.port.into()),
            format!("{path}.grpc.port"),
            1,
            65535,
        );
        // Alpha in Kubernetes 1.37 and off there.
        problems.choice(
            grpc.mode.as_deref(),
            format!("{path}.grpc.mode"),
            &["", "Plaintext"],
        );
    }
}

fn hook(
    handler: &LifecycleHandler,
    path: &str,
    place: &Place<'_>,
    container: &Container,
    problems: &mut Problems,
) {
    let kinds = [
        handler.exec.is_some(),
        handler.http_get.is_some(),
        handler.tcp_socket.is_some(),
        handler.sleep.is_some(),
    ];
    exactly_one(&kinds, path, "exec, httpGet, tcpSocket and sleep", problems);
    actions(
        &handler.exec,
        &handler.http_get,
        &None,
        path,
        container,
        problems,
    );
    let grace = place.spec.termination_grace_period_seconds.unwrap_or(30);
    let sleep = handler.sleep.as_ref().map(|sleep| sleep.seconds);
    problems.range(sleep, format!("{path}.sleep.seconds"), 0, grace);
}

fn actions(
    exec: &Option<ExecAction>,
    http: &Option<HTTPGetAction>,
    tcp: &Option<TCPSocketAction>,
    path: &str,
    container: &Container,
    problems: &mut Problems,
) {
    if let Some(exec) = exec {
        let empty = exec.command.as_ref().is_none_or(Vec::is_empty);
        problems.when(empty, format!("{path}.exec.command"), "it is missing");
    }
    if let Some(http) = http {
        port(
            &http.port,
            &format!("{path}.httpGet.port"),
            container,
            problems,
        );
        let scheme = http.scheme.as_deref();
        problems.choice(scheme, format!("{path}.httpGet.scheme"), &["HTTP", "HTTPS"]);
        for header in http.http_headers.iter().flatten() {
            let name = header.name.bytes();
            let right = !header.name.is_empty()
                && name
                    .into_iter()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            let field = format!("{path}.httpGet.httpHeaders");
            problems.when(
                !right,
                field,
                "names must have letters, digits, - and _ only",
            );
        }
    }
    if let Some(tcp) = tcp {
        port(
            &tcp.port,
            &format!("{path}.tcpSocket.port"),
            container,
            problems,
        );
    }
}

fn port(port: &IntOrString, field: &str, container: &Container, problems: &mut Problems) {
    if want::port(port, container).is_none() {
        let message = match port {
            IntOrString::Int(number) => {
                format!("{number} is wrong, it must be between 1 and 65535")
            }
            IntOrString::String(name) => format!("this container has no port named {name:?}"),
        };
        problems.add(field, message);
    }
}

fn exactly_one(kinds: &[bool], path: &str, names: &str, problems: &mut Problems) {
    let count = kinds.iter().filter(|kind| **kind).count();
    problems.when(
        count != 1,
        path,
        &format!("it must have exactly one of {names}"),
    );
}
