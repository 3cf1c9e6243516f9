//! Fields of the pod as a whole.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{PodSecurityContext, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Problems, names};

/// Largest user or group id (Linux and the API).
pub(super) const LARGEST_ID: i64 = i32::MAX as i64;

pub(super) fn metadata(metadata: &ObjectMeta, named: bool, problems: &mut Problems) {
    let name = metadata.name.as_deref().unwrap_or_default();
    if named {
        // The node's name is part of it by now.
        problems.when(
            !names::is_subdomain(name),
            "metadata.name",
            names::SUBDOMAIN,
        );
    } else {
        problems.add("metadata.name", "it is missing");
    }
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    problems.when(
        !names::is_label(namespace),
        "metadata.namespace",
        names::LABEL,
    );
    let uid = metadata.uid.as_deref().unwrap_or_default();
    let message = "it must have at most 128 characters, letters, digits, - and ., with a letter or \
                   digit at both ends";
    problems.when(!names::is_uid(uid), "metadata.uid", message);
}

pub(super) fn spec(spec: &PodSpec, problems: &mut Problems) {
    let restart = spec.restart_policy.as_deref();
    problems.choice(
        restart,
        "spec.restartPolicy",
        &["Always", "OnFailure", "Never"],
    );
    let policies = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"];
    problems.choice(spec.dns_policy.as_deref(), "spec.dnsPolicy", &policies);
    let deadline = spec.active_deadline_seconds;
    problems.range(deadline, "spec.activeDeadlineSeconds", 1, i32::MAX.into());
    let system = spec.os.as_ref().map(|system| system.name.as_str());
    problems.choice(system, "spec.os.name", &["linux"]);
    problems.when(
        spec.ephemeral_containers
            .as_ref()
            .is_some_and(|list| !list.is_empty()),
        "spec.ephemeralContainers",
        "they can only be added to a pod that runs",
    );
    problems.when(
        spec.scheduling_gates
            .as_ref()
            .is_some_and(|list| !list.is_empty()),
        "spec.schedulingGates",
        "a static pod is not scheduled, so nothing would ever open them",
    );
    for (field, name) in [
        ("spec.hostname", &spec.hostname),
        ("spec.subdomain", &spec.subdomain),
    ] {
        let wrong = name
            .as_deref()
            .is_some_and(|name| !name.is_empty() && !names::is_label(name));
        problems.when(wrong, field, names::LABEL);
    }
    let own_name = spec.hostname_override.as_deref();
    let wrong = own_name.is_some_and(|name| name.len() > 64 || !names::is_subdomain(name));
    problems.when(
        wrong,
        "spec.hostnameOverride",
        "it must be a DNS name of at most 64 characters",
    );
    let host_pid = spec.host_pid == Some(true) && spec.share_process_namespace == Some(true);
    problems.when(
        host_pid,
        "spec.shareProcessNamespace",
        "it cannot be used with hostPID",
    );
    dns(spec, problems);
    host_aliases(spec, problems);
    if let Some(context) = &spec.security_context {
        security(context, problems);
    }
}

fn dns(spec: &PodSpec, problems: &mut Problems) {
    let config = spec.dns_config.as_ref();
    let servers = config
        .and_then(|config| config.nameservers.as_deref())
        .unwrap_or_default();
    let searches = config
        .and_then(|config| config.searches.as_deref())
        .unwrap_or_default();
    let none = spec.dns_policy.as_deref() == Some("None") && servers.is_empty();
    problems.when(
        none,
        "spec.dnsConfig.nameservers",
        "dnsPolicy None needs at least one",
    );
    problems.when(
        servers.len() > 3,
        "spec.dnsConfig.nameservers",
        "there may be at most 3",
    );
    problems.when(
        searches.len() > 32,
        "spec.dnsConfig.searches",
        "there may be at most 32",
    );
    for (at, server) in servers.iter().enumerate() {
        let field = format!("spec.dnsConfig.nameservers[{at}]");
        problems.when(
            server.parse::<IpAddr>().is_err(),
            field,
            "it must be an IP address",
        );
    }
}

fn host_aliases(spec: &PodSpec, problems: &mut Problems) {
    for (at, alias) in spec.host_aliases.iter().flatten().enumerate() {
        let field = format!("spec.hostAliases[{at}]");
        let address = alias.ip.parse::<IpAddr>();
        problems.when(
            address.is_err(),
            format!("{field}.ip"),
            "it must be an IP address",
        );
        for name in alias.hostnames.iter().flatten() {
            let field = format!("{field}.hostnames");
            problems.when(!names::is_subdomain(name), field, names::SUBDOMAIN);
        }
    }
}

fn security(context: &PodSecurityContext, problems: &mut Problems) {
    let path = "spec.securityContext";
    for (field, id) in [
        ("runAsUser", context.run_as_user),
        ("runAsGroup", context.run_as_group),
        ("fsGroup", context.fs_group),
    ] {
        problems.range(id, format!("{path}.{field}"), 0, LARGEST_ID);
    }
    for group in context.supplemental_groups.iter().flatten() {
        problems.range(
            Some(*group),
            format!("{path}.supplementalGroups"),
            0,
            LARGEST_ID,
        );
    }
    let policy = context.fs_group_change_policy.as_deref();
    problems.choice(
        policy,
        format!("{path}.fsGroupChangePolicy"),
        &["Always", "OnRootMismatch"],
    );
    let policy = context.supplemental_groups_policy.as_deref();
    problems.choice(
        policy,
        format!("{path}.supplementalGroupsPolicy"),
        &["Merge", "Strict"],
    );
}
