//! What the configuration and the flags say about the node.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use agent_core::Quantity;
use k8s_openapi::api::core::v1::Taint;

use super::thresholds::{Threshold, hard_threshold};
use super::{labels, taints};
use crate::configuration::KubeletConfiguration;
use crate::problem::Problem;

/// How often the status is computed when nothing is set (Kubernetes 1.37).
const UPDATE: Duration = Duration::from_secs(10);
/// How often an unchanged status is written when nothing is set (Kubernetes 1.37).
const REPORT: Duration = Duration::from_secs(300);

/// What only the command line and the program itself know.
#[derive(Clone, Debug, Default)]
pub struct NodeFlags {
    /// Name of the node.
    pub name: String,
    /// Value of the label `kubernetes.io/hostname`, which is also the address of type Hostname.
    pub hostname: String,
    /// `--node-ip`: one address, two of different families, `0.0.0.0` or `::`, separated by commas.
    pub node_ip: String,
    /// `--node-labels`.
    pub node_labels: BTreeMap<String, String>,
    /// `--register-with-taints`, each as `key=value:Effect`. They replace those of the configuration.
    pub register_with_taints: Vec<String>,
    /// `--cloud-provider=external`.
    pub external_cloud_provider: bool,
    /// Version to report.
    pub version: String,
    /// The node runs on cgroup v1, which is said in an event.
    pub cgroup_v1: bool,
    /// Nothing of an earlier life of this node is on this host, so that device resources of a Node
    /// object that is there already are those of another machine.
    pub fresh: bool,
}

/// Everything that was set about the node, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSettings {
    pub(crate) name: String,
    pub(crate) hostname: String,
    pub(crate) node_ips: Vec<IpAddr>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) external_cloud_provider: bool,
    pub(crate) provider_id: String,
    pub(crate) register: bool,
    pub(crate) controller_attaches: bool,
    pub(crate) version: String,
    pub(crate) cgroup_v1: bool,
    pub(crate) cgroups_enforced: bool,
    pub(crate) fresh: bool,
    pub(crate) max_pods: i64,
    /// 0: no such limit.
    pub(crate) pods_per_core: i64,
    /// Kept for system and agent together, by resource name.
    pub(crate) reserved: BTreeMap<String, Quantity>,
    /// Hard threshold of `memory.available`.
    pub(crate) memory_threshold: Option<Threshold>,
    /// Hard threshold of `nodefs.available`.
    pub(crate) storage_threshold: Option<Threshold>,
    /// Local storage is a resource of the node.
    pub(crate) local_storage: bool,
    pub(crate) port: i32,
    /// `None`: all.
    pub(crate) max_images: Option<usize>,
    pub(crate) update_every: Duration,
    pub(crate) report_every: Duration,
    pub(crate) lease_seconds: i32,
}

impl NodeSettings {
    /// Checks and puts together. Err: everything that is wrong, by flag or field.
    pub fn new(
        configuration: &KubeletConfiguration,
        flags: &NodeFlags,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let node = &configuration.node;
        let resources = &configuration.resources;
        let hard = &configuration.eviction.eviction_hard;
        let update = node.node_status_update_frequency.map(|time| time.span());
        let report = node.node_status_report_frequency.map(|time| time.span());
        labels::check(&flags.node_labels, &mut problems);
        let settings = Self {
            name: flags.name.clone(),
            hostname: flags.hostname.clone(),
            node_ips: node_ips(&flags.node_ip, &mut problems),
            labels: flags.node_labels.clone(),
            taints: match flags.register_with_taints.as_slice() {
                [] => node.register_with_taints.clone(),
                texts => taints::parse(texts, &mut problems),
            },
            external_cloud_provider: flags.external_cloud_provider,
            provider_id: node.provider_id.clone(),
            register: node.register_node,
            controller_attaches: configuration.pods.enable_controller_attach_detach,
            version: flags.version.clone(),
            cgroup_v1: flags.cgroup_v1,
            cgroups_enforced: resources.cgroups_per_qos,
            fresh: flags.fresh,
            max_pods: i64::from(configuration.pods.max_pods),
            pods_per_core: i64::from(configuration.pods.pods_per_core),
            reserved: reserved(configuration, &mut problems),
            memory_threshold: hard_threshold(hard, "memory.available", &mut problems),
            storage_threshold: hard_threshold(hard, "nodefs.available", &mut problems),
            local_storage: configuration.pods.local_storage_capacity_isolation,
            port: configuration.server.port,
            max_images: usize::try_from(node.node_status_max_images).ok(),
            update_every: update.unwrap_or(UPDATE),
            // Kubernetes 1.37: the update period alone sets the report period, too.
            report_every: report.or(update).unwrap_or(REPORT),
            lease_seconds: node.node_lease_duration_seconds,
        };
        if problems.is_empty() {
            Ok(settings)
        } else {
            Err(problems)
        }
    }

    /// Addresses that have to be found on this host: those of `--node-ip` that name one.
    pub fn asked_addresses(&self) -> Vec<IpAddr> {
        let named = self.node_ips.iter().filter(|ip| !ip.is_unspecified());
        named.copied().collect()
    }

    /// The name that has to be resolved to find the node's address, if nothing else says which it is.
    pub fn name_to_resolve(&self) -> Option<String> {
        let settled = !self.asked_addresses().is_empty() || self.hostname.parse::<IpAddr>().is_ok();
        let by_provider = self.external_cloud_provider && self.node_ips.is_empty();
        (!settled && !by_provider).then(|| self.name.clone())
    }

    /// Time for one call about status or lease: later the next one is due anyway.
    pub(crate) fn call_limit(&self) -> Duration {
        self.lease_duration()
            .min(self.update_every)
            .max(Duration::from_secs(1))
    }

    /// How long the lease lasts.
    pub(crate) fn lease_duration(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.lease_seconds.max(1)).unwrap_or(1))
    }
}

/// Kubernetes 1.37: a word that is no address is left out; what remains is one address or one of each
/// family, and of two neither may be unspecified.
fn node_ips(text: &str, problems: &mut Vec<Problem>) -> Vec<IpAddr> {
    let ips: Vec<IpAddr> = text
        .split(',')
        .filter_map(|word| word.trim().parse().ok())
        .collect();
    let wrong = match ips.as_slice() {
        [] | [_] => None,
        [one, two] if one.is_ipv4() != two.is_ipv4() => (one.is_unspecified()
            || two.is_unspecified())
        .then_some("a pair of addresses cannot have 0.0.0.0 or ::"),
        _ => Some("it must be one address, or an IPv4 and an IPv6 address"),
    };
    if let Some(wrong) = wrong {
        problems.push(Problem::new("--node-ip", format!("{text:?}: {wrong}")));
    }
    ips
}

/// systemReserved and kubeReserved together; CPUs of reservedSystemCPUs take the place of both.
fn reserved(
    configuration: &KubeletConfiguration,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, Quantity> {
    let resources = &configuration.resources;
    let mut sum: BTreeMap<String, Quantity> = BTreeMap::new();
    for (field, amounts) in [
        ("systemReserved", &resources.system_reserved),
        ("kubeReserved", &resources.kube_reserved),
    ] {
        for (name, text) in amounts {
            match text.parse::<Quantity>() {
                Ok(amount) => {
                    let so_far = sum.entry(name.clone()).or_default();
                    *so_far = so_far.plus(amount);
                }
                Err(error) => {
                    problems.push(Problem::new(format!("{field}.{name}"), error.to_string()));
                }
            }
        }
    }
    if !resources.reserved_system_cpus.is_empty() {
        match cpu_count(&resources.reserved_system_cpus) {
            Some(count) => {
                sum.insert("cpu".to_owned(), Quantity::whole(count));
            }
            None => problems.push(Problem::new(
                "reservedSystemCPUs",
                "it is no list of CPUs; write for instance 0-1,4",
            )),
        }
    }
    sum
}

/// CPUs in a list such as `0-1,4`.
fn cpu_count(list: &str) -> Option<i64> {
    let mut cpus = std::collections::BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // More CPUs than any machine has is a typing error, and a list of them would fill memory.
        if last < first || last > 65_535 {
            return None;
        }
        cpus.extend(first..=last);
    }
    i64::try_from(cpus.len()).ok()
}

#[cfg(test)]
mod tests;
