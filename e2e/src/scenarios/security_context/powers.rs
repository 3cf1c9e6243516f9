//! Capabilities, privileges, system calls, kernel parameters, and what of /proc is kept away.

use std::fs;

use anyhow::{Context, Result};
use e2e::Cluster;
use serde_json::{Value, json};

use super::Look;

/// Of the node's own profiles.
const PROFILE: &str = "profiles/no-mkdir.json";

/// A system call filter that lets everything through but the making of folders.
pub(super) fn write_profile(cluster: &Cluster) -> Result<()> {
    let profile = json!({
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [{ "names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO" }],
    });
    let file = cluster.node.agent.root().join("seccomp").join(PROFILE);
    fs::create_dir_all(file.parent().context("a profile lies in a folder")?)?;
    Ok(fs::write(file, profile.to_string())?)
}

pub(super) fn looks() -> Result<Vec<Look>> {
    let mut looks = capabilities()?;
    looks.extend(filters());
    looks.extend(kernel());
    Ok(looks)
}

fn capabilities() -> Result<Vec<Look>> {
    let effective = "grep CapEff /proc/self/status | cut -f 2";
    let own = fs::read_to_string("/proc/self/status")?;
    let own = own.lines().find_map(|line| line.strip_prefix("CapEff:\t"));
    let own = own.context("no capabilities")?;
    let only = json!({ "capabilities": { "drop": ["ALL"], "add": ["NET_ADMIN"] } });
    let less = json!({ "capabilities": { "drop": ["CHOWN"] } });
    let chown = "touch /tmp/one; chown 1 /tmp/one";
    Ok(vec![
        Look::new(
            "only",
            effective,
            context(only),
            json!({}),
            "0000000000001000\n",
        ),
        Look::new(
            "less",
            chown,
            context(less),
            json!({}),
            "chown: /tmp/one: Operation not permitted\n",
        ),
        // /dev/kmsg stands for the machine's devices.
        Look::new(
            "privileged",
            &format!(
                "{effective}; test -c /dev/kmsg && echo devices; test -w /sys/kernel && echo sys"
            ),
            context(json!({ "privileged": true })),
            json!({}),
            &format!("{own}\ndevices\nsys\n"),
        ),
        Look::new(
            "read-only-root",
            "touch /one; touch /data/one && echo written",
            json!({
                "securityContext": { "readOnlyRootFilesystem": true },
                "volumeMounts": [{ "name": "data", "mountPath": "/data" }],
            }),
            json!({ "volumes": [{ "name": "data", "emptyDir": {} }] }),
            "touch: /one: Read-only file system\nwritten\n",
        ),
    ])
}

fn filters() -> Vec<Look> {
    let status = "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | cut -f 2 | tr '\\n' ' '";
    let profile = |kind: &str| json!({ "seccompProfile": { "type": kind } });
    let own = json!({ "type": "Localhost", "localhostProfile": PROFILE });
    vec![
        Look::new("as-usual", status, json!({}), json!({}), "0 0 "),
        Look::new(
            "no-new-privileges",
            status,
            context(json!({ "allowPrivilegeEscalation": false })),
            json!({}),
            "1 0 ",
        ),
        Look::new(
            "unconfined",
            status,
            context(profile("Unconfined")),
            json!({}),
            "0 0 ",
        ),
        Look::new(
            "filtered",
            status,
            context(profile("RuntimeDefault")),
            json!({}),
            "0 2 ",
        ),
        Look::new(
            "filtered-pod",
            status,
            json!({}),
            context(profile("RuntimeDefault")),
            "0 2 ",
        ),
        Look::new(
            "own-filter",
            "mkdir /tmp/one",
            context(json!({ "seccompProfile": own })),
            json!({}),
            "mkdir: can't create directory '/tmp/one': Operation not permitted\n",
        ),
    ]
}

fn kernel() -> Vec<Look> {
    let sysctls = json!([
        { "name": "net.ipv4.ip_unprivileged_port_start", "value": "7" },
        { "name": "net.core.somaxconn", "value": "321" },
    ]);
    let both = "cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/net/core/somaxconn";
    let masked = "wc -c < /proc/interrupts; test -w /proc/sysrq-trigger; echo $?";
    vec![
        Look::new(
            "parameters",
            both,
            json!({}),
            context(json!({ "sysctls": sysctls })),
            "7\n321\n",
        ),
        Look::new(
            "masked",
            masked,
            context(json!({ "procMount": "Default" })),
            json!({}),
            "0\n1\n",
        ),
    ]
}

fn context(context: Value) -> Value {
    json!({ "securityContext": context })
}
