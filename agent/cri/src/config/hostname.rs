//! The host name of a pod.

use super::error::ConfigError;
use super::input::PodInput;

/// The kernel's nodename holds this many characters; a single label only 63.
const KERNEL_LIMIT: usize = 64;
const LABEL_LIMIT: usize = 63;

/// What the sandbox's UTS namespace is set to. Empty for a pod on the host's network, which keeps the
/// host's name.
///
/// `spec.hostnameOverride` outranks all; else `spec.hostname`, else the pod's name, cut at 63
/// characters; with `spec.subdomain` and `spec.setHostnameAsFQDN` the full name in the cluster domain.
pub(crate) fn hostname(pod: &PodInput<'_>) -> Result<String, ConfigError> {
    if pod.want.host_network {
        return Ok(String::new());
    }
    if let Some(name) = &pod.spec.hostname_override {
        return Ok(cut(name));
    }
    let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    let name = given(&pod.spec.hostname);
    let name = cut(name.as_deref().unwrap_or(&pod.want.name.name));
    let Some(domain) = given(&pod.spec.subdomain) else {
        return Ok(name);
    };
    if !pod.spec.set_hostname_as_fqdn.unwrap_or(false) {
        return Ok(name);
    }
    let cluster = &pod.node.cluster_domain;
    let fqdn = format!("{name}.{domain}.{}.svc.{cluster}", pod.want.name.namespace);
    if fqdn.len() > KERNEL_LIMIT {
        Err(ConfigError::LongName { fqdn })
    } else {
        Ok(fqdn)
    }
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(LABEL_LIMIT) {
        Some((end, _)) => name.split_at(end).0.trim_end_matches(['-', '.']).to_owned(),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
