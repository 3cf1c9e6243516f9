//! A pod's names: what `hostname` says, and /etc/hosts.

use serde_json::{Value, json};

use super::Look;

/// Longer than what a host name may be (63).
const LONG: &str = "long-long-long-long-long-long-long-long-long-long-long-long-lo-long";

pub(super) fn looks() -> Vec<Look> {
    let named = json!({ "hostname": "front", "subdomain": "web" });
    let mut whole = named.clone();
    whole["setHostnameAsFQDN"] = json!(true);
    let aliases = json!({ "hostAliases": [
        { "ip": "192.0.2.7", "hostnames": ["one", "two"] },
        { "ip": "192.0.2.8", "hostnames": ["three"] },
    ] });
    let hosts = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n\
                 ::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\n\
                 fe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n";
    let file = "sed \"s/^$ADDRESS/ADDRESS/\" /etc/hosts";
    let own = |name: &str| format!("{hosts}ADDRESS\t{name}\n");
    let both = format!("hostname; {file}");
    let full = "front.web.default.svc.cluster.local";
    vec![
        Look::new(
            "hosts",
            &both,
            address(),
            json!({}),
            &format!("hosts\n{}", own("hosts")),
        ),
        Look::new(
            "domain",
            &both,
            address(),
            named,
            &format!("front\n{}", own(&format!("{full}\tfront"))),
        ),
        Look::new(
            "full-name",
            &both,
            address(),
            whole,
            &format!("{full}\n{}", own(&format!("{full}\tfront"))),
        ),
        Look::new(
            "overridden",
            "hostname",
            json!({}),
            json!({ "hostnameOverride": "other.name" }),
            "other.name\n",
        ),
        Look::new(
            LONG,
            "hostname",
            json!({}),
            json!({}),
            &format!("{}\n", &LONG[..62]),
        ),
        Look::new(
            "aliases",
            file,
            address(),
            aliases,
            &format!(
                "{}\n# Entries added by HostAliases.\n192.0.2.7\tone\ttwo\n192.0.2.8\tthree\n",
                own("aliases")
            ),
        ),
    ]
}

fn address() -> Value {
    let field = json!({ "fieldRef": { "fieldPath": "status.podIP" } });
    json!({ "env": [{ "name": "ADDRESS", "valueFrom": field }] })
}
