//! A second machine that was given the same node name: its agent says so and waits.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::{
    Cluster, HOSTNAME, LEASE, NODE, Node, POD, Process, Setup, User, api_pod, staying_containers,
    until,
};
use serde_json::json;

use super::HEARTBEAT;

/// The twin has to start and to read one lease.
const LIMIT: Duration = Duration::from_secs(30);
/// Another machine has another identity.
const OTHER_MACHINE: &str = r#"mount --bind "$1" /etc/machine-id; shift; exec "$@""#;

pub(super) async fn waits(cluster: &Cluster) -> Result<()> {
    let mut other = Node::start(Setup::plain()?).await?;
    let log = other.log_file("twin");
    let mut twin = Process::start("twin", command(cluster, &mut other)?, &log)?;
    until("the twin's word about the other agent", LIMIT, async || {
        twin.alive()?;
        let said = fs::read_to_string(&log)?;
        let words = ["another agent is alive", HOSTNAME, "--hostname-override"];
        ensure!(words.iter().all(|word| said.contains(word)), "not yet");
        // What is wrong makes it end with a code of its own.
        let health = other.agent.gpuctl(&["health"])?.stdout;
        let health = String::from_utf8_lossy(&health).into_owned();
        ensure!(health.contains("node name"), "gpuctl says {health}");
        Ok(())
    })
    .await?;

    // A pod that comes to the node now is the first agent's, and its heartbeats go on under its own identity.
    let objects = cluster.objects();
    let holder =
        |lease: &serde_json::Value| lease["metadata"]["annotations"]["gpulet/lease-holder"].clone();
    let before = objects.get(LEASE, HEARTBEAT).await?;
    let mut pod = json!({ "containers": staying_containers() });
    pod["tolerations"] = json!([{ "operator": "Exists" }]);
    objects.apply(&api_pod("one", pod)).await?;
    objects.ready("one").await?;
    let mut renewals = 0;
    let mut last = before.clone();
    objects
        .until(LEASE, HEARTBEAT, |lease| {
            renewals += usize::from(lease["spec"]["renewTime"] != last["spec"]["renewTime"]);
            last = lease.clone();
            ensure!(renewals >= 2, "{renewals} renewals");
            Ok(())
        })
        .await?;
    ensure!(holder(&before) == holder(&last), "{before} became {last}");
    cluster.node.cri().running("one", "main").await?;
    let taken = other.cri().sandboxes().await?;
    ensure!(taken.is_empty(), "the twin has started {taken:?}");
    twin.alive()?;
    drop(twin);
    objects.delete(POD, "one").await?;
    objects.gone(POD, "one").await?;
    ensure!(objects.list(NODE, "").await?.len() == 1);
    other.finish().await
}

/// The other machine's agent: its own folders, containerd and identity, but the cluster's network, since that of the
/// other node leads nowhere.
fn command(cluster: &Cluster, other: &mut Node) -> Result<Command> {
    other.configure_agent("healthzPort: 10348\nport: 10350\nfailSwapOn: false\n")?;
    let identity = other.scratch("machine")?.join("machine-id");
    fs::write(&identity, "0123456789abcdef0123456789abcdef\n")?;
    let kubeconfig = cluster.plane.kubeconfig(User::Node);
    let folder = other.footprint().data_folder();
    other.agent.arguments.extend([
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--cert-dir={}/pki", folder.display()),
    ]);
    let agent = other.agent.command(None)?;
    let mut command = cluster
        .node
        .containerd
        .how()
        .netns
        .command(Path::new("unshare"));
    command.args(["--mount", "/bin/sh", "-e", "-c", OTHER_MACHINE, "twin"]);
    command.arg(identity);
    // The first one enters the other node's network; the rest is the agent itself.
    command.args(agent.get_args().skip(1));
    for (name, value) in agent.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Ok(command)
}
