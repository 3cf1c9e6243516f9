//! Fields of one container.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::pod::LARGEST_ID;
use super::{Problems, mounts, names, probes, resources};

/// Where a container stands.
pub(super) struct Place<'a> {
    /// The pod it is in.
    pub(super) spec: &'a PodSpec,
    /// It is an init container, sidecars among them.
    pub(super) init: bool,
    /// Way to it.
    pub(super) path: &'a str,
}

pub(super) fn check(place: &Place<'_>, container: &Container, problems: &mut Problems) {
    let path = place.path;
    problems.when(
        !names::is_label(&container.name),
        format!("{path}.name"),
        names::LABEL,
    );
    let image = container.image.as_deref().unwrap_or_default();
    if image.is_empty() {
        problems.add(format!("{path}.image"), "it is missing");
    }
    let blank = "it must have no blanks and no control characters";
    let odd = image.chars().any(|c| c.is_whitespace() || c.is_control());
    problems.when(odd, format!("{path}.image"), blank);
    for (field, value, allowed) in [
        (
            "imagePullPolicy",
            &container.image_pull_policy,
            ["Always", "IfNotPresent", "Never"].as_slice(),
        ),
        (
            "terminationMessagePolicy",
            &container.termination_message_policy,
            ["File", "FallbackToLogsOnError"].as_slice(),
        ),
    ] {
        problems.choice(value.as_deref(), format!("{path}.{field}"), allowed);
    }
    ports(container, path, problems);
    environment(container, path, problems);
    restart(container, path, problems);
    security(container, path, problems);
    mounts::check(place, container, problems);
    probes::check(place, container, problems);
    resources::check(
        container.resources.as_ref(),
        &format!("{path}.resources"),
        problems,
    );
}

/// No two containers of a pod share a name, init containers included.
pub(super) fn unique<'a>(
    container: &'a Container,
    path: &str,
    seen: &mut BTreeSet<&'a str>,
    problems: &mut Problems,
) {
    if !seen.insert(&container.name) {
        let message = format!(
            "{:?} is the name of another container of this pod",
            container.name
        );
        problems.add(format!("{path}.name"), message);
    }
}

/// No two containers of a pod ask for the same port of the host.
pub(super) fn host_ports<'a>(
    container: &'a Container,
    path: &str,
    seen: &mut BTreeSet<(&'a str, &'a str, i32)>,
    problems: &mut Problems,
) {
    for (at, port) in container.ports.iter().flatten().enumerate() {
        let number = port.host_port.unwrap_or_default();
        let protocol = port.protocol.as_deref().unwrap_or_default();
        let address = port.host_ip.as_deref().unwrap_or_default();
        if number > 0 && !seen.insert((protocol, address, number)) {
            let message = format!("{number} is taken by another port of this pod");
            problems.add(format!("{path}.ports[{at}].hostPort"), message);
        }
    }
}

fn ports(container: &Container, path: &str, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (at, port) in container.ports.iter().flatten().enumerate() {
        let path = format!("{path}.ports[{at}]");
        let number = Some(port.container_port.into());
        problems.range(number, format!("{path}.containerPort"), 1, 65535);
        problems.range(
            port.host_port.map(i64::from),
            format!("{path}.hostPort"),
            0,
            65535,
        );
        let protocols = ["TCP", "UDP", "SCTP"];
        problems.choice(
            port.protocol.as_deref(),
            format!("{path}.protocol"),
            &protocols,
        );
        let address = port.host_ip.as_deref().unwrap_or_default();
        let wrong = !address.is_empty() && address.parse::<IpAddr>().is_err();
        problems.when(wrong, format!("{path}.hostIP"), "it must be an IP address");
        let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) else {
            continue;
        };
        problems.when(!names::is_port(name), format!("{path}.name"), names::PORT);
        if !seen.insert(name) {
            let message = format!("{name:?} is the name of another port of this container");
            problems.add(format!("{path}.name"), message);
        }
    }
}

fn environment(container: &Container, path: &str, problems: &mut Problems) {
    for (at, variable) in container.env.iter().flatten().enumerate() {
        let path = format!("{path}.env[{at}]");
        let name = &variable.name;
        let right = !name.is_empty()
            && name
                .bytes()
                .all(|b| (b' '..=b'~').contains(&b) && b != b'=');
        let message = "it must be printable ASCII without =, and not empty";
        problems.when(!right, format!("{path}.name"), message);
        let both = variable.value_from.is_some()
            && variable
                .value
                .as_deref()
                .is_some_and(|value| !value.is_empty());
        problems.when(
            both,
            format!("{path}.valueFrom"),
            "it cannot be used together with value",
        );
        let nul = variable
            .value
            .as_deref()
            .is_some_and(|value| value.contains('\0'));
        problems.when(
            nul,
            format!("{path}.value"),
            "it must have no NUL character",
        );
        let from = variable.value_from.iter();
        for reference in from.filter_map(|from| from.resource_field_ref.as_ref()) {
            resources::divisor(
                reference,
                &format!("{path}.valueFrom.resourceFieldRef"),
                problems,
            );
        }
    }
}

fn restart(container: &Container, path: &str, problems: &mut Problems) {
    let field = format!("{path}.restartPolicy");
    let policy = container.restart_policy.as_deref();
    problems.choice(policy, &field, &["Always", "OnFailure", "Never"]);
    for (at, rule) in container.restart_policy_rules.iter().flatten().enumerate() {
        let path = format!("{path}.restartPolicyRules[{at}]");
        problems.choice(Some(&rule.action), format!("{path}.action"), &["Restart"]);
        let operator = rule
            .exit_codes
            .as_ref()
            .map(|codes| codes.operator.as_str());
        problems.choice(
            operator,
            format!("{path}.exitCodes.operator"),
            &["In", "NotIn"],
        );
        problems.when(
            operator.is_none(),
            format!("{path}.exitCodes"),
            "it is missing",
        );
        problems.when(policy.is_none(), &field, "restartPolicyRules need it");
    }
}

fn security(container: &Container, path: &str, problems: &mut Problems) {
    let Some(context) = &container.security_context else {
        return;
    };
    let path = format!("{path}.securityContext");
    for (field, id) in [
        ("runAsUser", context.run_as_user),
        ("runAsGroup", context.run_as_group),
    ] {
        problems.range(id, format!("{path}.{field}"), 0, LARGEST_ID);
    }
    problems.choice(
        context.proc_mount.as_deref(),
        format!("{path}.procMount"),
        &["Default", "Unmasked"],
    );
    let profile = context
        .seccomp_profile
        .as_ref()
        .map(|profile| profile.type_.as_str());
    let kinds = ["RuntimeDefault", "Localhost", "Unconfined"];
    problems.choice(profile, format!("{path}.seccompProfile.type"), &kinds);
    let added = context
        .capabilities
        .iter()
        .filter_map(|set| set.add.as_ref())
        .flatten();
    let admin = added
        .into_iter()
        .any(|name| name == "SYS_ADMIN" || name == "CAP_SYS_ADMIN");
    let strong = context.privileged == Some(true) || admin;
    problems.when(
        strong && context.allow_privilege_escalation == Some(false),
        format!("{path}.allowPrivilegeEscalation"),
        "it cannot be false together with privileged or CAP_SYS_ADMIN",
    );
}
