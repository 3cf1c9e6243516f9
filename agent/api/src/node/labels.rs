//! Labels of the node: those that every node has, and those that the operator gives it.

use std::collections::BTreeMap;

use agent_loops::ports::MachineFacts;

use super::settings::NodeSettings;
use crate::problem::Problem;

const HOSTNAME: &str = "kubernetes.io/hostname";
const OS: &str = "kubernetes.io/os";
const ARCH: &str = "kubernetes.io/arch";
const BETA_OS: &str = "beta.kubernetes.io/os";
const BETA_ARCH: &str = "beta.kubernetes.io/arch";

/// Labels that a node may set on itself, and that are put right on a Node object that is there already
/// (Kubernetes 1.37).
const DEFAULTS: [&str; 11] = [
    HOSTNAME,
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    OS,
    ARCH,
    BETA_OS,
    BETA_ARCH,
];

/// Suffixes of domains in which a node may set any label.
const DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/// Labels of a new Node object: those of the operator win.
pub(crate) fn initial(settings: &NodeSettings, machine: &MachineFacts) -> BTreeMap<String, String> {
    let own = [
        (HOSTNAME, settings.hostname.as_str()),
        (OS, machine.operating_system),
        (ARCH, machine.architecture),
        (BETA_OS, machine.operating_system),
        (BETA_ARCH, machine.architecture),
    ];
    let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let mut labels = BTreeMap::from(own);
    labels.extend(settings.labels.clone());
    labels
}

/// Puts the default labels of a Node object right that was there already. Other labels of the operator
/// are for new Node objects only: later they may have been changed on purpose.
pub(crate) fn adopt(wanted: &BTreeMap<String, String>, labels: &mut BTreeMap<String, String>) {
    for key in DEFAULTS {
        match wanted.get(key).map(String::as_str) {
            None => {}
            Some("") => {
                labels.remove(key);
            }
            Some(value) => {
                labels.insert(key.to_owned(), value.to_owned());
            }
        }
    }
}

/// Puts the two labels right that scheduling must be able to rely on; done with every status.
pub(crate) fn repair(machine: &MachineFacts, labels: &mut BTreeMap<String, String>) {
    labels.insert(OS.to_owned(), machine.operating_system.to_owned());
    labels.insert(ARCH.to_owned(), machine.architecture.to_owned());
}

/// Checks `--node-labels`.
pub(crate) fn check(labels: &BTreeMap<String, String>, problems: &mut Vec<Problem>) {
    let mut wrong = |message: String| problems.push(Problem::new("--node-labels", message));
    for (key, value) in labels {
        if !is_qualified_name(key) {
            wrong(format!("{key:?} is no label key"));
        } else if is_reserved(key) && !is_allowed(key) {
            wrong(format!(
                "{key:?}: a node may not set this label on itself; allowed in kubernetes.io and k8s.io are \
                 the domains {} and {}",
                DOMAINS.join(", "),
                DEFAULTS.join(", "),
            ));
        }
        if !is_label_value(value) {
            wrong(format!("{value:?} is no label value of {key}"));
        }
    }
}

fn domain(key: &str) -> &str {
    key.split_once('/').map_or("", |(domain, _)| domain)
}

fn within(domain: &str, parent: &str) -> bool {
    let rest = domain.strip_suffix(parent);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn is_reserved(key: &str) -> bool {
    ["kubernetes.io", "k8s.io"]
        .iter()
        .any(|parent| within(domain(key), parent))
}

fn is_allowed(key: &str) -> bool {
    let listed = DEFAULTS.contains(&key);
    listed || DOMAINS.iter().any(|parent| within(domain(key), parent))
}

/// `name` or `domain/name`.
pub(crate) fn is_qualified_name(key: &str) -> bool {
    let (domain, name) = match key.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, key),
    };
    let domain_fits = domain.is_none_or(|domain| {
        let part = |part: &str| {
            let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            !part.is_empty()
                && part.chars().all(inner)
                && !part.starts_with('-')
                && !part.ends_with('-')
        };
        domain.len() <= 253 && domain.split('.').all(part)
    });
    domain_fits && !name.is_empty() && is_label_value(name)
}

/// Empty, or at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
pub(crate) fn is_label_value(value: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let end = |c: char| c.is_ascii_alphanumeric();
    value.is_empty()
        || (value.len() <= 63
            && value.chars().all(inner)
            && value.starts_with(end)
            && value.ends_with(end))
}

#[cfg(test)]
mod tests;
