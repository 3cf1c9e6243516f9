//! What people do with kubectl to a pod and its node, over both kinds of streams that kubectl has, and who may not do it.

use anyhow::{Result, ensure};
use e2e::{Cluster, ClusterSetup, Kubectl, api_pod, staying_containers};
use serde_json::json;

mod access;
mod attach;
mod copy;
mod drain;
mod exec;
mod forward;
mod logs;
mod node;
mod terminal;

/// The pod that most of it happens to: its container `main` stays.
const POD: &str = "tool";

/// How kubectl's streams travel.
#[derive(Debug, Clone, Copy)]
struct Transport {
    name: &'static str,
    /// Value of kubectl's own switches.
    websockets: &'static str,
}

const TRANSPORTS: [Transport; 2] = [
    Transport {
        name: "websocket",
        websockets: "true",
    },
    Transport {
        name: "spdy",
        websockets: "false",
    },
];

impl Transport {
    fn kubectl(self, cluster: &Cluster) -> Kubectl {
        cluster
            .kubectl
            .with_variable("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", self.websockets)
            .with_variable("KUBECTL_PORT_FORWARD_WEBSOCKETS", self.websockets)
    }
}

pub(super) async fn run() -> Result<()> {
    let cluster = Cluster::start(ClusterSetup::plain()?).await?;
    let pod = api_pod(POD, json!({ "containers": staying_containers() }));
    cluster.objects().apply(&pod).await?;
    cluster.objects().ready(POD).await?;
    let (logs, exec, attach, copy, forward, terminal, node, access) = tokio::join!(
        logs::check(&cluster),
        exec::check(&cluster),
        attach::check(&cluster),
        copy::check(&cluster),
        forward::check(&cluster),
        terminal::check(&cluster),
        node::check(&cluster),
        access::check(&cluster),
    );
    let outcomes = [
        ("logs", logs),
        ("exec", exec),
        ("attach", attach),
        ("cp", copy),
        ("port-forward", forward),
        ("at a terminal", terminal),
        ("the node", node),
        ("access", access),
    ];
    let failed: Vec<String> = outcomes
        .into_iter()
        .filter_map(|(name, outcome)| Some(format!("{name}: {:#}", outcome.err()?)))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    drain::check(&cluster).await?;
    cluster.finish().await
}
