//! What goes into the sandbox's resolv.conf.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodDNSConfig;
use proto::cri::DnsConfig;

use super::input::PodInput;

/// Limits of Kubernetes 1.37; resolvers of older C libraries drop or abort on more.
const MAX_SERVERS: usize = 3;
const MAX_SEARCHES: usize = 32;
const MAX_SEARCH_LENGTH: usize = 253;
const MAX_SEARCH_LINE: usize = 2048;

/// The resolver configuration by `spec.dnsPolicy` and `spec.dnsConfig`.
pub(crate) fn dns(pod: &PodInput<'_>) -> DnsConfig {
    let mut config = match policy(pod) {
        Policy::None => DnsConfig::default(),
        Policy::Cluster if pod.node.cluster_dns.is_empty() => {
            tracing::warn!(
                pod = %pod.want.name,
                "dnsPolicy ClusterFirst, but the kubelet configuration names no clusterDNS: \
                 the node's resolvers are used"
            );
            of_node(pod)
        }
        Policy::Cluster => of_cluster(pod),
        Policy::Node => of_node(pod),
    };
    if let Some(own) = &pod.spec.dns_config {
        add(&mut config, own);
    }
    limit(pod, &mut config);
    config
}

enum Policy {
    None,
    Cluster,
    Node,
}

/// `ClusterFirst`, the default, means the node's resolvers for a pod on the host's network.
fn policy(pod: &PodInput<'_>) -> Policy {
    match pod.spec.dns_policy.as_deref() {
        Some("None") => Policy::None,
        Some("Default") => Policy::Node,
        Some("ClusterFirstWithHostNet") => Policy::Cluster,
        _ if pod.want.host_network => Policy::Node,
        _ => Policy::Cluster,
    }
}

fn of_node(pod: &PodInput<'_>) -> DnsConfig {
    let resolver = &pod.prepared.resolver;
    DnsConfig {
        servers: resolver.servers.clone(),
        searches: resolver.searches.clone(),
        options: resolver.options.clone(),
    }
}

fn of_cluster(pod: &PodInput<'_>) -> DnsConfig {
    let domain = &pod.node.cluster_domain;
    let mut searches = Vec::new();
    if !domain.is_empty() {
        searches.push(format!("{}.svc.{domain}", pod.want.name.namespace));
        searches.push(format!("svc.{domain}"));
        searches.push(domain.clone());
    }
    // A single dot switches searching off; it has no place after other entries.
    let of_node = pod
        .prepared
        .resolver
        .searches
        .iter()
        .filter(|search| *search != ".");
    searches.extend(of_node.cloned());
    DnsConfig {
        servers: pod.node.cluster_dns.clone(),
        searches: once_each(searches),
        options: vec!["ndots:5".to_owned()],
    }
}

/// `spec.dnsConfig` adds servers and searches and replaces options of the same name.
fn add(config: &mut DnsConfig, own: &PodDNSConfig) {
    config
        .servers
        .extend(own.nameservers.iter().flatten().cloned());
    config.servers = once_each(std::mem::take(&mut config.servers));
    config
        .searches
        .extend(own.searches.iter().flatten().cloned());
    config.searches = once_each(std::mem::take(&mut config.searches));
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    for option in &config.options {
        let (name, value) = option.split_once(':').unwrap_or((option, ""));
        options.insert(name.to_owned(), value.to_owned());
    }
    for option in own.options.iter().flatten() {
        let name = option.name.clone().unwrap_or_default();
        options.insert(name, option.value.clone().unwrap_or_default());
    }
    let text = |(name, value): (String, String)| {
        if value.is_empty() {
            name
        } else {
            format!("{name}:{value}")
        }
    };
    config.options = options.into_iter().map(text).collect();
}

fn limit(pod: &PodInput<'_>, config: &mut DnsConfig) {
    let before = (config.servers.len(), config.searches.len());
    config.servers.truncate(MAX_SERVERS);
    config.searches.truncate(MAX_SEARCHES);
    config
        .searches
        .retain(|search| search.len() <= MAX_SEARCH_LENGTH);
    while config.searches.join(" ").len() > MAX_SEARCH_LINE {
        config.searches.pop();
    }
    if before != (config.servers.len(), config.searches.len()) {
        tracing::warn!(
            pod = %pod.want.name,
            servers = ?config.servers,
            searches = ?config.searches,
            "more DNS servers or search paths than resolvers take: these are used"
        );
    }
}

fn once_each(texts: Vec<String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::with_capacity(texts.len());
    for text in texts {
        if !once.contains(&text) {
            once.push(text);
        }
    }
    once
}

#[cfg(test)]
mod tests;
