//! Addresses of the pod and of its node.

use std::net::IpAddr;

use agent_core::Life;
use k8s_openapi::api::core::v1::{HostIP, PodIP, PodStatus};

use super::{Scene, final_phase};

pub(super) fn fill(scene: &Scene<'_>, status: &mut PodStatus) {
    let host = &scene.node.host_ips;
    if let Some(first) = host.first() {
        status.host_ip = Some(first.to_string());
        let ips = host.iter().take(2).map(|ip| HostIP { ip: ip.to_string() });
        status.host_ips = Some(ips.collect());
    }
    let ips = if scene.spec.host_network == Some(true) {
        on_host(scene)
    } else {
        sorted(scene, &scene.snapshot.status.ips)
    };
    let ends = final_phase(scene.previous).is_some()
        || !matches!(scene.snapshot.life, Life::Waiting | Life::Running);
    if ips.is_empty() && ends {
        // Who looks back at the pod wants to know where it was.
        return;
    }
    status.pod_ip = ips.first().cloned();
    let ips: Vec<PodIP> = ips.into_iter().map(|ip| PodIP { ip }).collect();
    status.pod_ips = (!ips.is_empty()).then_some(ips);
}

/// The node's addresses. They stay once they are told; only one of the other family is added.
fn on_host(scene: &Scene<'_>) -> Vec<String> {
    let told = scene.previous.pod_ips.iter().flatten();
    let mut ips: Vec<String> = told.map(|each| each.ip.clone()).collect();
    let host = &scene.node.host_ips;
    if ips.is_empty() {
        ips.extend(host.first().map(ToString::to_string));
    }
    if let ([only], Some(second)) = (ips.as_slice(), host.get(1))
        && only
            .parse::<IpAddr>()
            .is_ok_and(|only| only.is_ipv4() != second.is_ipv4())
    {
        ips.push(second.to_string());
    }
    ips
}

/// The first address of the node's primary family and the first of the other one.
fn sorted(scene: &Scene<'_>, ips: &[String]) -> Vec<String> {
    let v4_first = scene.node.host_ips.first().is_none_or(IpAddr::is_ipv4);
    let parsed: Vec<IpAddr> = ips.iter().filter_map(|ip| ip.parse().ok()).collect();
    let first = |v4: bool| parsed.iter().find(|ip| ip.is_ipv4() == v4);
    let both = [first(v4_first), first(!v4_first)];
    both.into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect()
}
