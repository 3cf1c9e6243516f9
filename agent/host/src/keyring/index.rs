//! Credentials by registry, the most specific first.

use std::collections::BTreeMap;

use agent_loops::ports::{CredentialOrigin, PullCredential};

use super::docker::{self, Logins};
use super::glob;

/// The default registry, as logins call it.
const DEFAULT_REGISTRY: &str = "index.docker.io";

/// Credentials by host, port and path. Lookup goes through keys in falling order, so that a longer
/// path comes before a shorter one of the same host (Kubernetes 1.37: the same order).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index(BTreeMap<String, Vec<PullCredential>>);

impl Index {
    /// Adds logins. Those added first are tried first.
    pub(super) fn add(&mut self, logins: &Logins, origin: &CredentialOrigin) {
        for (registry, login) in logins {
            let credential = docker::credential(login, origin);
            self.0.entry(key(registry)).or_default().push(credential);
        }
    }

    /// What to try for `repository`: all that match, else what is for the default registry if the
    /// repository is there.
    pub(super) fn lookup(&self, repository: &str) -> Vec<PullCredential> {
        let matching = self.0.iter().rev();
        let found: Vec<PullCredential> = matching
            .filter(|(key, _)| url_matches(key, repository))
            .flat_map(|(_, credentials)| credentials.iter().cloned())
            .collect();
        if found.is_empty() && is_in_default_registry(repository) {
            return self.0.get(DEFAULT_REGISTRY).cloned().unwrap_or_default();
        }
        found
    }
}

/// Host, port and path of a login: without scheme, and without the version of the registry's API, which
/// old clients wrote down with it.
fn key(registry: &str) -> String {
    let bare = registry
        .strip_prefix("https://")
        .or_else(|| registry.strip_prefix("http://"))
        .unwrap_or(registry);
    let bare = bare.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = split(bare);
    let path = match path {
        "/v1/" | "/v2/" => "/",
        path if path.starts_with("/v1/") || path.starts_with("/v2/") => {
            path.get(3..).unwrap_or_default()
        }
        path => path,
    };
    if path == "/" {
        host.to_owned()
    } else {
        format!("{host}{path}")
    }
}

/// Whether `target` is under `pattern`: same port, same number of host parts and each matches, path is a
/// prefix. Patterns are allowed in the host only.
pub(super) fn url_matches(pattern: &str, target: &str) -> bool {
    let ((pattern, prefix), (target, path)) = (split(pattern), split(target));
    let ((pattern, pattern_port), (target, port)) = (port(pattern), port(target));
    let (parts, of_target): (Vec<&str>, Vec<&str>) =
        (pattern.split('.').collect(), target.split('.').collect());
    pattern_port == port
        && parts.len() == of_target.len()
        && path.starts_with(prefix)
        && parts
            .iter()
            .zip(of_target)
            .all(|(part, of_target)| glob::matches(part, of_target))
}

/// Host with port, and path with its slash.
fn split(url: &str) -> (&str, &str) {
    match url.find('/') {
        Some(slash) => url.split_at(slash),
        None => (url, ""),
    }
}

/// Host and port. The brackets of an IPv6 address are no part of it when a port follows.
fn port(whole: &str) -> (&str, &str) {
    match whole.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && !host.starts_with('[') => (host, port),
        Some((host, port)) => match host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
        {
            Some(address) => (address, port),
            None => (whole, ""),
        },
        None => (whole, ""),
    }
}

/// Names without a host, and Docker's own two.
fn is_in_default_registry(repository: &str) -> bool {
    match repository.split_once('/') {
        None => !repository.is_empty(),
        Some(("docker.io" | "index.docker.io", _)) => true,
        Some((first, _)) => !first.is_empty() && !first.contains(['.', ':']),
    }
}

#[cfg(test)]
mod tests;
