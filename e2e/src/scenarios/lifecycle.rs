//! A pod's life in all its parts, each a pod or two of its own, side by side on one node.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use e2e::{Node, Setup, until};
use serde_json::{Value, json};

use super::POD_LIMIT;

mod backoff;
mod gpus;
mod hooks;
mod network;
mod order;
mod probes;
mod volumes;

pub(super) async fn run() -> Result<()> {
    let node = Node::with_agent(Setup::with_gpus("h200x8")?).await?;
    let (order, hooks, backoff, probes, network, volumes, gpus) = tokio::join!(
        order::check(&node),
        hooks::check(&node),
        backoff::check(&node),
        probes::check(&node),
        network::check(&node),
        volumes::check(&node),
        gpus::check(&node),
    );
    let outcomes = [
        ("order", order),
        ("hooks", hooks),
        ("back-off", backoff),
        ("probes", probes),
        ("network", network),
        ("volumes", volumes),
        ("GPUs", gpus),
    ];
    let failed: Vec<String> = outcomes
        .into_iter()
        .filter_map(|(name, outcome)| Some(format!("{name}: {:#}", outcome.err()?)))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    node.finish().await
}

/// A file on the node that containers write lines to, so that what happened first stands first.
struct Diary {
    file: PathBuf,
}

impl Diary {
    fn new(node: &Node, name: &str) -> Result<Diary> {
        let file = node.scratch(name)?.join("diary");
        std::fs::write(&file, "")?;
        Ok(Diary { file })
    }

    /// The pod's volume for it.
    fn volume(&self) -> Value {
        json!({ "name": "diary", "hostPath": { "path": self.file, "type": "File" } })
    }

    /// A container's mount of it, at `/diary`.
    fn mount() -> Value {
        json!({ "name": "diary", "mountPath": "/diary" })
    }

    fn lines(&self) -> Result<Vec<String>> {
        read_lines(&self.file)
    }

    /// Waits until exactly these lines stand in it.
    async fn reads(&self, expected: &[&str]) -> Result<()> {
        until(&format!("the lines {expected:?}"), POD_LIMIT, async || {
            let lines = self.lines()?;
            ensure!(lines == expected, "it reads {lines:?}");
            Ok(())
        })
        .await
    }
}

fn read_lines(file: &Path) -> Result<Vec<String>> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}
