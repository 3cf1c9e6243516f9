//! `/etc/hosts` of a pod.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use k8s_openapi::api::core::v1::{HostAlias, Pod};

/// First lines by which programs and people tell who wrote the file.
const HEADER: &str = "# Kubernetes-managed hosts file.\n";
const HOST_NETWORK_HEADER: &str = "# Kubernetes-managed hosts file (host network).\n";

/// Names that every machine has.
const FIXED: &str = "127.0.0.1\tlocalhost\n\
    ::1\tlocalhost ip6-localhost ip6-loopback\n\
    fe00::0\tip6-localnet\n\
    fe00::0\tip6-mcastprefix\n\
    fe00::1\tip6-allnodes\n\
    fe00::2\tip6-allrouters\n";

/// Longest host name of Linux.
const LONGEST_NAME: usize = 63;

/// Writes the pod's file. A running container has it mounted, so it is written in place.
pub(super) fn write(
    path: &Path,
    pod: &Pod,
    ips: &[String],
    cluster_domain: &str,
    host_file: &Path,
) -> io::Result<()> {
    let spec = pod.spec.as_ref();
    let aliases = spec
        .and_then(|spec| spec.host_aliases.as_deref())
        .unwrap_or_default();
    let text = if spec.is_some_and(|spec| spec.host_network == Some(true)) {
        let host = String::from_utf8_lossy(&fs::read(host_file)?).into_owned();
        format!("{HOST_NETWORK_HEADER}{host}{}", lines(aliases))
    } else {
        managed(pod, ips, cluster_domain, aliases)
    };
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o644)
        .custom_flags(NOFOLLOW);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

/// `O_NOFOLLOW`.
const NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

fn managed(pod: &Pod, ips: &[String], cluster_domain: &str, aliases: &[HostAlias]) -> String {
    let (name, domain) = names(pod, cluster_domain);
    let own = ips.iter().map(|ip| match &domain {
        Some(domain) => format!("{ip}\t{name}.{domain}\t{name}\n"),
        None => format!("{ip}\t{name}\n"),
    });
    format!(
        "{HEADER}{FIXED}{}{}",
        own.collect::<String>(),
        lines(aliases)
    )
}

fn lines(aliases: &[HostAlias]) -> String {
    if aliases.is_empty() {
        return String::new();
    }
    let line = |alias: &HostAlias| {
        let names = alias.hostnames.as_deref().unwrap_or_default().join("\t");
        format!("{}\t{names}\n", alias.ip)
    };
    format!(
        "\n# Entries added by HostAliases.\n{}",
        aliases.iter().map(line).collect::<String>()
    )
}

/// Host name of a pod and the domain it is in, if the pod names a subdomain.
fn names(pod: &Pod, cluster_domain: &str) -> (String, Option<String>) {
    let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let spec = pod.spec.as_ref();
    if let Some(name) = spec.and_then(|spec| filled(&spec.hostname_override)) {
        return (shortened(&name), None);
    }
    let own = pod.metadata.name.clone().unwrap_or_default();
    let name = spec.and_then(|spec| filled(&spec.hostname)).unwrap_or(own);
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let subdomain = spec.and_then(|spec| filled(&spec.subdomain));
    let domain = subdomain.map(|subdomain| format!("{subdomain}.{namespace}.svc.{cluster_domain}"));
    (shortened(&name), domain)
}

fn shortened(name: &str) -> String {
    match name.get(..LONGEST_NAME) {
        Some(cut) if name.len() > LONGEST_NAME => cut.trim_end_matches(['-', '.']).to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
