//! The node's own port, past the API server: it answers those whom the cluster's roles let, and nobody else.

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, NODE_ADDRESS, STRANGER, User, until};
use serde_json::json;

use super::POD;
use crate::scenarios::POD_LIMIT;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    grant(cluster).await?;
    // kubectl speaks to the node as to any server; what matters is who it says it is.
    let ask = async |user: User, verb: &str, path: &str| {
        let kubeconfig = cluster.plane.kubeconfig(user);
        let server = format!("--server=https://{NODE_ADDRESS}:10250");
        let mut arguments = vec![&server, verb, "--raw", path];
        if verb == "create" {
            arguments.extend(["-f", "-"]);
        }
        let kubectl = cluster.kubectl.with_kubeconfig(&kubeconfig);
        let output = kubectl.output(&arguments, "").await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        anyhow::Ok((
            output.status.success(),
            text(&output.stdout),
            text(&output.stderr),
        ))
    };
    let exec = format!("/exec/default/{POD}/main?command=touch&command=/tmp/stolen&output=1");
    let run = format!("/run/default/{POD}/main?cmd=touch%20/tmp/stolen");
    let logs = format!("/containerLogs/default/{POD}/main");

    for path in ["/pods", "/configz", "/healthz", &logs] {
        let (good, _, said) = ask(User::Admin, "get", path).await?;
        ensure!(good, "the administrator's {path}: {said}");
    }
    for (verb, path) in [
        ("get", "/configz"),
        ("get", "/metrics"),
        ("get", &logs),
        ("get", &exec),
        ("create", &exec),
        ("create", &run),
    ] {
        let (good, out, said) = ask(User::Stranger, verb, path).await?;
        ensure!(
            !good && said.contains("Forbidden"),
            "a stranger's {path}: {out}{said}"
        );
        let (good, out, said) = ask(User::Nobody, verb, path).await?;
        ensure!(
            !good && said.contains("must be logged in"),
            "nobody's {path}: {out}{said}"
        );
    }
    let (good, out, said) = ask(User::Stranger, "get", "/pods").await?;
    ensure!(
        good && out.contains(POD),
        "what the stranger may: {out}{said}"
    );
    let cri = cluster.node.cri();
    let id = cri.running(POD, "main").await?.id;
    cri.shell(&id, "test ! -e /tmp/stolen").await.map(drop)
}

/// Lets the stranger see the node's pods and nothing else of it.
async fn grant(cluster: &Cluster) -> Result<()> {
    let group = "rbac.authorization.k8s.io";
    let name = "e2e:pods-of-nodes";
    let role = json!({
        "apiVersion": format!("{group}/v1"),
        "kind": "ClusterRole",
        "metadata": { "name": name },
        "rules": [{ "apiGroups": [""], "resources": ["nodes/pods"], "verbs": ["get"] }],
    });
    let binding = json!({
        "apiVersion": format!("{group}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": name },
        "subjects": [{ "apiGroup": group, "kind": "User", "name": STRANGER }],
    });
    for object in [role, binding] {
        cluster.objects().apply(&object).await?;
    }
    // A node remembers a refusal for half a minute, so it is asked only when the answer is known.
    let question = [
        "auth",
        "can-i",
        "get",
        "nodes",
        "--subresource=pods",
        "--as",
        STRANGER,
    ];
    until("the stranger's right", POD_LIMIT, async || {
        let answer = cluster.kubectl.run(&question).await.context("not yet")?;
        ensure!(answer.trim() == "yes", "{answer}");
        Ok(())
    })
    .await
}
