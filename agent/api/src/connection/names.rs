//! For whom a certificate is asked.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::pair::Leaf;

/// One entry of `status.addresses` of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddress {
    /// `Hostname`, `InternalIP`, `ExternalIP`, `InternalDNS` or `ExternalDNS`.
    pub kind: String,
    /// Address or name.
    pub address: String,
}

/// Names and addresses under which the node's server is reached, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServingNames {
    /// DNS names.
    pub dns: BTreeSet<String>,
    /// Addresses.
    pub addresses: BTreeSet<IpAddr>,
}

/// Subject and names of a certificate that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// CN.
    pub(super) common_name: String,
    /// O.
    pub(super) organization: &'static str,
    /// Alternative names.
    pub(super) alternatives: ServingNames,
}

impl ServingNames {
    /// From the addresses of the node. A host name that is an address counts as one; anything else
    /// under an address kind that is none is left out (Kubernetes 1.37).
    pub fn of(addresses: &[NodeAddress]) -> Self {
        let mut names = Self::default();
        for NodeAddress { kind, address } in addresses {
            match (kind.as_str(), address.parse::<IpAddr>()) {
                ("Hostname" | "InternalIP" | "ExternalIP", Ok(address)) => {
                    names.addresses.insert(address);
                }
                ("Hostname" | "InternalDNS" | "ExternalDNS", _) if !address.is_empty() => {
                    names.dns.insert(address.clone());
                }
                _ => {}
            }
        }
        names
    }
}

impl Names {
    /// The node itself.
    pub(super) fn node(node: &str, alternatives: ServingNames) -> Self {
        Self {
            common_name: format!("system:node:{node}"),
            organization: "system:nodes",
            alternatives,
        }
    }

    /// Whether a certificate covers all of this; more does not matter.
    pub(super) fn covered_by(&self, leaf: &Leaf) -> bool {
        self.common_name == leaf.common_name
            && leaf.organizations.contains(self.organization)
            && self.alternatives.dns.is_subset(&leaf.dns_names)
            && self.alternatives.addresses.is_subset(&leaf.addresses)
    }
}

#[cfg(test)]
mod tests;
