//! What containers write down, for scenarios about an order.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use e2e::{Node, until};
use serde_json::{Value, json};

use super::POD_LIMIT;

/// A file on the node that containers write lines to, so that what happened first stands first.
pub(super) struct Diary {
    file: PathBuf,
}

impl Diary {
    pub(super) fn new(node: &Node, name: &str) -> Result<Diary> {
        let file = node.scratch(name)?.join("diary");
        std::fs::write(&file, "")?;
        Ok(Diary { file })
    }

    /// The pod's volume for it.
    pub(super) fn volume(&self) -> Value {
        json!({ "name": "diary", "hostPath": { "path": self.file, "type": "File" } })
    }

    /// A container's mount of it, at `/diary`.
    pub(super) fn mount() -> Value {
        json!({ "name": "diary", "mountPath": "/diary" })
    }

    pub(super) fn lines(&self) -> Result<Vec<String>> {
        read_lines(&self.file)
    }

    /// Waits until exactly these lines stand in it.
    pub(super) async fn reads(&self, expected: &[&str]) -> Result<()> {
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
