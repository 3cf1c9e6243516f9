//! The real kubectl, run inside the node's namespace.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::bed::Bed;
use crate::footprint::{Footprint, MARK};
use crate::netns::Netns;
use crate::process::Process;

/// kubectl itself needs half a second of a core; what it waits for, such as a rollout, takes longer.
const LIMIT: Duration = Duration::from_secs(120);

/// kubectl with one kubeconfig.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    netns: Netns,
    footprint: Footprint,
    kubeconfig: PathBuf,
    environment: Vec<(&'static str, &'static str)>,
}

impl Kubectl {
    /// kubectl for whom the kubeconfig is.
    pub(super) fn new(
        bed: &Bed,
        netns: &Netns,
        footprint: &Footprint,
        kubeconfig: PathBuf,
    ) -> Result<Kubectl> {
        Ok(Kubectl {
            program: bed.controlplane("kubectl")?,
            netns: netns.clone(),
            footprint: footprint.clone(),
            kubeconfig,
            environment: Vec::new(),
        })
    }

    /// The same for somebody else.
    pub fn with_kubeconfig(&self, kubeconfig: &Path) -> Kubectl {
        Kubectl {
            kubeconfig: kubeconfig.to_owned(),
            ..self.clone()
        }
    }

    /// The same with a variable of its environment set.
    pub fn with_variable(&self, name: &'static str, value: &'static str) -> Kubectl {
        let mut other = self.clone();
        other.environment.push((name, value));
        other
    }

    /// What it prints.
    ///
    /// # Errors
    /// When it ends with another code than 0, with all that it said, or takes 2 minutes.
    pub async fn run(&self, arguments: &[&str]) -> Result<String> {
        self.with_input(arguments, "").await
    }

    /// What it prints with `-o json`.
    pub async fn json(&self, arguments: &[&str]) -> Result<Value> {
        let text = self.run(&[arguments, &["-o", "json"]].concat()).await?;
        serde_json::from_str(&text).with_context(|| format!("kubectl {arguments:?} printed {text}"))
    }

    /// Applies manifests, YAML or JSON.
    pub async fn apply(&self, manifests: &str) -> Result<String> {
        self.with_input(&["apply", "-f", "-"], manifests).await
    }

    /// What it prints when it is given this to read.
    pub async fn with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        let output = self.output(arguments, input).await?;
        let said = String::from_utf8_lossy(&output.stderr);
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let status = output.status;
        ensure!(
            status.success(),
            "kubectl {arguments:?}: {status} {out}{said}"
        );
        Ok(out)
    }

    /// All of it: for commands that ought to fail, or whose exit code says something.
    pub async fn output(&self, arguments: &[&str], input: &str) -> Result<Output> {
        let mut command = tokio::process::Command::from(self.command(arguments));
        command
            .kill_on_drop(true)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().context("starting kubectl")?;
        let mut stdin = child.stdin.take().context("kubectl reads nothing")?;
        let work = async {
            // kubectl may end without having read it all.
            let _ = stdin.write_all(input.as_bytes()).await;
            drop(stdin);
            child.wait_with_output().await
        };
        let output = timeout(LIMIT, work).await;
        let seconds = LIMIT.as_secs();
        Ok(output.with_context(|| format!("kubectl {arguments:?} runs for {seconds} s"))??)
    }

    /// Starts one that stays, such as `port-forward` or `logs --follow`, with its output in `log`. It is killed when
    /// dropped.
    pub fn start(&self, arguments: &[&str], log: &Path) -> Result<Process> {
        Process::start("kubectl", self.command(arguments), log)
    }

    /// The command itself.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = self.netns.command(&self.program);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--cache-dir")
            .arg(self.footprint.data_folder().join("cluster/kubectl"))
            .args(arguments)
            .env(MARK, self.footprint.name())
            .envs(self.environment.iter().copied());
        command
    }

    /// What the cluster looks like, for a failure's report. It blocks, at most for some seconds.
    pub(super) fn picture(&self) -> String {
        let mut picture = String::new();
        for arguments in [
            [
                "get",
                "nodes,pods",
                "-A",
                "-o",
                "wide",
                "--request-timeout=5s",
            ]
            .as_slice(),
            &[
                "get",
                "events",
                "-A",
                "--sort-by=.lastTimestamp",
                "--request-timeout=5s",
            ],
        ] {
            let output = self.command(arguments).stdin(Stdio::null()).output();
            let Ok(output) = output else { continue };
            picture += &String::from_utf8_lossy(&output.stdout);
            picture += &String::from_utf8_lossy(&output.stderr);
        }
        picture
    }
}
