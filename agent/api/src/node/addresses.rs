//! Addresses of the node.

use std::net::IpAddr;

use agent_loops::ports::MachineFacts;
use k8s_openapi::api::core::v1::NodeAddress;

use super::settings::NodeSettings;

/// Annotation that tells an external cloud provider which addresses were chosen here.
pub(crate) const PROVIDED: &str = "alpha.kubernetes.io/provided-node-ip";

/// The addresses to show (Kubernetes 1.37: first `--node-ip`, then a host name that is an address, then
/// what the name resolves to, then the default route). Err: why there are none, and the old ones stay.
pub(crate) fn choose(
    settings: &NodeSettings,
    machine: &MachineFacts,
    old: &[NodeAddress],
) -> Result<Vec<NodeAddress>, String> {
    let asked = settings.asked_addresses();
    for address in &asked {
        check(*address, machine).map_err(|why| format!("--node-ip {address}: {why}"))?;
    }
    let host = NodeAddress {
        type_: "Hostname".to_owned(),
        address: settings.hostname.clone(),
    };
    if settings.external_cloud_provider {
        // What the provider has set outranks what is known here.
        if !old.is_empty() {
            return Ok(old.to_vec());
        }
        if settings.node_ips.is_empty() {
            return Ok(vec![host]);
        }
    }
    let chosen = if asked.is_empty() {
        vec![unasked(settings, machine).ok_or_else(|| no_address(settings))?]
    } else {
        asked
    };
    let internal = chosen.iter().map(|address| NodeAddress {
        type_: "InternalIP".to_owned(),
        address: address.to_string(),
    });
    Ok(internal.chain([host]).collect())
}

/// Value of [`PROVIDED`], if there has to be one.
pub(crate) fn provided(settings: &NodeSettings) -> Option<String> {
    let asked: Vec<String> = settings
        .asked_addresses()
        .iter()
        .map(ToString::to_string)
        .collect();
    (settings.external_cloud_provider && !asked.is_empty()).then(|| asked.join(","))
}

fn unasked(settings: &NodeSettings, machine: &MachineFacts) -> Option<IpAddr> {
    if let Ok(address) = settings.hostname.parse() {
        return Some(address);
    }
    // `::` asks for IPv6 where there is a choice; `0.0.0.0` and nothing ask for IPv4.
    let wants_v4 = settings.node_ips.first().is_none_or(IpAddr::is_ipv4);
    let usable = |address: &&IpAddr| check(**address, machine).is_ok();
    let resolved: Vec<IpAddr> = machine.resolved.iter().filter(usable).copied().collect();
    let preferred = |addresses: &[IpAddr]| {
        let wanted = |address: &&IpAddr| address.is_ipv4() == wants_v4;
        addresses.iter().find(wanted).copied()
    };
    preferred(&resolved)
        .or_else(|| resolved.first().copied())
        .or_else(|| preferred(&machine.routed))
        .or_else(|| {
            // An unspecified address asks for its own family only.
            let any = settings.node_ips.is_empty();
            machine.routed.first().copied().filter(|_| any)
        })
}

fn check(address: IpAddr, machine: &MachineFacts) -> Result<(), &'static str> {
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    if address.is_loopback() {
        Err("a loopback address cannot be reached from other nodes")
    } else if address.is_multicast() {
        Err("it is a multicast address")
    } else if link_local {
        Err("a link-local address cannot be reached from other nodes")
    } else if address.is_unspecified() {
        Err("it is no address of one host")
    } else if machine.local.contains(&address) {
        Ok(())
    } else {
        Err("no interface of this host has it")
    }
}

fn no_address(settings: &NodeSettings) -> String {
    format!(
        "no address of this node can be found: {} resolves to none of this host's, and there is no default \
         route; set --node-ip",
        settings.name
    )
}

#[cfg(test)]
mod tests;
