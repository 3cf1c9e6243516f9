//! What a container is told: name servers, the services of its namespace, and variables that name each other.

use e2e::metadata;
use serde_json::{Value, json};

use super::Look;

/// The node's own resolver file.
pub(super) const RESOLVER: &str = "search node.test\nnameserver 192.0.2.53\noptions timeout:3\n";
/// Of the services' range.
const ADDRESS: &str = "10.96.0.60";

/// A service that is there before any pod.
pub(super) fn service() -> Value {
    let spec = json!({ "clusterIP": ADDRESS, "ports": [{ "name": "sql", "port": 5432 }] });
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata("my-store"), "spec": spec })
}

pub(super) fn looks() -> Vec<Look> {
    let mut looks = resolvers();
    looks.extend(variables());
    looks
}

fn resolvers() -> Vec<Look> {
    // Merged options stand in no order.
    let file = "sed 's/edns0 ndots:2/ndots:2 edns0/' /etc/resolv.conf";
    let config = json!({
        "nameservers": ["192.0.2.54"],
        "searches": ["more.test"],
        "options": [{ "name": "ndots", "value": "2" }, { "name": "edns0" }],
    });
    let with = |policy: &str, config: &Value| json!({ "dnsPolicy": policy, "dnsConfig": config });
    let cluster = "search default.svc.cluster.local svc.cluster.local cluster.local node.test";
    let none = json!({});
    vec![
        Look::new(
            "dns",
            file,
            json!({}),
            json!({}),
            &format!("{cluster}\nnameserver 10.96.0.10\noptions ndots:5\n"),
        ),
        Look::new(
            "dns-more",
            file,
            json!({}),
            with("ClusterFirst", &config),
            &format!(
                "{cluster} more.test\nnameserver 10.96.0.10\nnameserver 192.0.2.54\noptions ndots:2 edns0\n"
            ),
        ),
        Look::new(
            "dns-node",
            file,
            json!({}),
            with("Default", &none),
            RESOLVER,
        ),
        Look::new(
            "dns-none",
            file,
            json!({}),
            with("None", &config),
            "search more.test\nnameserver 192.0.2.54\noptions ndots:2 edns0\n",
        ),
        // On the node's network the cluster's name servers are used only when asked for.
        Look::new(
            "dns-host",
            file,
            json!({}),
            json!({ "hostNetwork": true }),
            RESOLVER,
        ),
        Look::new(
            "dns-host-cluster",
            file,
            json!({}),
            json!({ "hostNetwork": true, "dnsPolicy": "ClusterFirstWithHostNet" }),
            &format!("{cluster}\nnameserver 10.96.0.10\noptions ndots:5\n"),
        ),
    ]
}

fn variables() -> Vec<Look> {
    let services = "env | grep -E '^(MY_STORE|KUBERNETES_SERVICE_HOST)' | sort";
    let all = format!(
        "KUBERNETES_SERVICE_HOST=10.96.0.1\n\
         MY_STORE_PORT=tcp://{ADDRESS}:5432\n\
         MY_STORE_PORT_5432_TCP=tcp://{ADDRESS}:5432\n\
         MY_STORE_PORT_5432_TCP_ADDR={ADDRESS}\n\
         MY_STORE_PORT_5432_TCP_PORT=5432\n\
         MY_STORE_PORT_5432_TCP_PROTO=tcp\n\
         MY_STORE_SERVICE_HOST={ADDRESS}\n\
         MY_STORE_SERVICE_PORT=5432\n\
         MY_STORE_SERVICE_PORT_SQL=5432\n"
    );
    let named = json!({ "env": [
        { "name": "ONE", "value": "1" },
        { "name": "TWO", "value": "$(ONE)2" },
        { "name": "KEPT", "value": "$$(ONE) $(LATER)" },
        { "name": "LATER", "value": "3" },
    ] });
    vec![
        Look::new("services", services, json!({}), json!({}), &all),
        Look::new(
            "no-services",
            services,
            json!({}),
            json!({ "enableServiceLinks": false }),
            "KUBERNETES_SERVICE_HOST=10.96.0.1\n",
        ),
        Look::new(
            "variables",
            "echo $TWO '$(TWO)' '$$(TWO)' '$(NONE)'; echo \"$KEPT\"",
            named,
            json!({}),
            "12 12 $(TWO) $(NONE)\n$(ONE) $(LATER)\n",
        ),
    ]
}
