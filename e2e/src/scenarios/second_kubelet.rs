//! A second agent on the same root folder is refused and harms nothing; so is one without root. `--validate` judges
//! configuration and manifests and starts nothing.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use e2e::{Node, Setup, pod, staying};
use serde_json::json;

use super::running;

pub(super) async fn run() -> Result<()> {
    let mut node = Node::with_agent(Setup::plain()?).await?;
    node.agent.apply("first", &staying("first", 0))?;
    running(&node, "first").await?;
    let before = node.cri().seen().await?;

    let (code, said) = ended(node.agent.command(None)?)?;
    let root = node.agent.root().display().to_string();
    ensure!(
        code != Some(0) && said.contains(&root) && said.contains("another gpulet runs"),
        "{code:?}: {said}"
    );
    without_root(&node)?;
    validate(&node)?;

    node.agent.alive()?;
    ensure!(node.cri().seen().await? == before);
    node.finish().await
}

/// The first line says that root is needed.
fn without_root(node: &Node) -> Result<()> {
    // A copy, since the folder that cargo built it in need not be open to everybody.
    let copy = node.scratch("unprivileged")?.join("gpulet");
    fs::copy(node.bed().gpulet()?, &copy)?;
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(copy);
    let (code, said) = ended(command)?;
    let first = said.lines().next().unwrap_or_default();
    ensure!(
        code != Some(0) && first.contains("root"),
        "{code:?}: {said}"
    );
    Ok(())
}

fn validate(node: &Node) -> Result<()> {
    let command = || {
        let mut command = node.agent.command(None)?;
        command.arg("--validate");
        anyhow::Ok(command)
    };
    let (code, said) = ended(command()?)?;
    ensure!(code == Some(0), "a good configuration: {code:?} {said}");

    // The running agent has read its configuration; the file is changed for those that only judge it.
    let good = fs::read_to_string(node.agent.configuration())?;
    let driver = good.replace("cgroupDriver: cgroupfs", "cgroupDriver: upstart");
    fs::write(node.agent.configuration(), driver)?;
    let (code, said) = ended(command()?)?;
    let named = ["cgroupDriver", "upstart", "cgroupfs", "systemd"];
    ensure!(
        code != Some(0) && named.iter().all(|word| said.contains(word)),
        "{code:?} {said}"
    );

    let folder = node.scratch("judged")?;
    fs::write(
        folder.join("bad.yaml"),
        pod("bad", json!({ "containers": [] })),
    )?;
    let manifests = node.agent.manifests().display().to_string();
    let elsewhere = good.replace(&manifests, &folder.display().to_string());
    fs::write(node.agent.configuration(), elsewhere)?;
    let (code, said) = ended(command()?)?;
    fs::write(node.agent.configuration(), good)?;
    let named = ["bad.yaml", "containers"];
    ensure!(
        code != Some(0) && named.iter().all(|word| said.contains(word)),
        "{code:?} {said}"
    );
    Ok(())
}

/// Exit code and all that was said.
fn ended(mut command: Command) -> Result<(Option<i32>, String)> {
    let output = command.output()?;
    let said = [output.stderr, output.stdout].concat();
    Ok((
        output.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
}
