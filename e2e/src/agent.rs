//! gpulet on a node: its configuration, its life, its manifests, and gpuctl asking it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::Signal;
use serde_json::Value;

use crate::api::Api;
use crate::bed::Bed;
use crate::cluster::stock;
use crate::footprint::{Footprint, MARK, remove_cgroup};
use crate::gpus::Gpus;
use crate::netns::Netns;
use crate::process::Process;
use crate::wait;

/// The node's name for the agent; a static pod's name ends with it.
pub const HOSTNAME: &str = "node";
/// A start reads its state, asks containerd for everything and answers; it is far quicker.
const START_LIMIT: Duration = Duration::from_secs(20);
/// SIGTERM must end the agent however its surroundings hang.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Which agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Software {
    /// The one under test.
    Gpulet,
    /// The stock kubelet, with the same configuration and in the same place; only in clusters.
    Stock,
}

/// The agent of one node.
#[derive(Debug)]
pub struct Agent {
    bed: Bed,
    footprint: Footprint,
    netns: Netns,
    log: PathBuf,
    /// Which one it is.
    pub software: Software,
    /// Added to its command line.
    pub arguments: Vec<String>,
    /// Added to its environment.
    pub environment: Vec<(String, String)>,
    process: Option<Process>,
    killed: bool,
}

impl Agent {
    pub(crate) fn new(bed: &Bed, footprint: &Footprint, netns: &Netns, log: PathBuf) -> Agent {
        Agent {
            bed: bed.clone(),
            footprint: footprint.clone(),
            netns: netns.clone(),
            log,
            software: Software::Gpulet,
            arguments: Vec::new(),
            environment: Vec::new(),
            process: None,
            killed: false,
        }
    }

    /// Writes the KubeletConfiguration, with `extra` lines at its end.
    pub(crate) fn configure(&self, runtime: &Path, extra: &str) -> Result<()> {
        for folder in [self.manifests(), self.root()] {
            fs::create_dir_all(folder)?;
        }
        let (name, data) = (self.footprint.name(), self.footprint.data_folder());
        let (runtime, data) = (runtime.display(), data.display());
        let text = format!(
            "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: {data}/manifests
podLogsDir: {data}/logs
containerRuntimeEndpoint: unix://{runtime}
cgroupRoot: /{name}
cgroupDriver: cgroupfs
failCgroupV1: false
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
{extra}"
        );
        Ok(fs::write(self.configuration(), text)?)
    }

    /// Path of the KubeletConfiguration.
    pub fn configuration(&self) -> PathBuf {
        self.footprint.data_folder().join("kubelet.yaml")
    }

    /// The agent's root folder.
    pub fn root(&self) -> PathBuf {
        self.footprint.data_folder().join("kubelet")
    }

    /// The folder of the agent's own state files.
    pub fn state(&self) -> PathBuf {
        self.root().join("gpulet")
    }

    /// The manifest folder.
    pub fn manifests(&self) -> PathBuf {
        self.footprint.data_folder().join("manifests")
    }

    /// The socket that gpuctl asks.
    pub fn socket(&self) -> PathBuf {
        self.footprint.run_folder().join("gpulet.sock")
    }

    /// A client of that socket.
    pub fn api(&self) -> Result<Api> {
        Api::connect(&self.socket())
    }

    /// The agent's log so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Puts a manifest into the folder, whole at once.
    pub fn apply(&self, pod: &str, manifest: &str) -> Result<()> {
        let hidden = self.manifests().join(format!(".{pod}.part"));
        fs::write(&hidden, manifest)?;
        Ok(fs::rename(
            hidden,
            self.manifests().join(format!("{pod}.yaml")),
        )?)
    }

    /// Takes a manifest away.
    pub fn remove(&self, pod: &str) -> Result<()> {
        Ok(fs::remove_file(
            self.manifests().join(format!("{pod}.yaml")),
        )?)
    }

    pub(crate) fn remove_all_manifests(&self) -> Result<()> {
        for entry in fs::read_dir(self.manifests())?.flatten() {
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(path)?
            } else {
                fs::remove_file(path)?
            }
        }
        Ok(())
    }

    /// The command that starts the agent on this node.
    pub fn command(&self, gpus: Option<&Gpus>) -> Result<Command> {
        let mut command = match self.software {
            Software::Gpulet => self.netns.command(&self.bed.gpulet()?),
            Software::Stock => {
                let kubelet = self.bed.controlplane("kubelet")?;
                stock::command(&self.netns, &self.footprint, &kubelet)
            }
        };
        command
            .arg("--config")
            .arg(self.configuration())
            .arg("--root-dir")
            .arg(self.root());
        command
            .args(["--hostname-override", HOSTNAME])
            .env(MARK, self.footprint.name())
            .env_remove("E2E_OUT");
        if self.software == Software::Gpulet {
            command.arg("--gpulet-socket").arg(self.socket());
            command
                .arg("--cdi-dir")
                .arg(self.footprint.data_folder().join("cdi"));
            if let Some(gpus) = gpus {
                gpus.attach(&mut command);
            }
        }
        command
            .args(&self.arguments)
            .envs(self.environment.iter().cloned());
        Ok(command)
    }

    /// Starts it and waits until it says that it is up: the stock kubelet on `/healthz`, gpulet on
    /// `/readyz`, since its `/healthz` is there before everything else.
    pub async fn start(&mut self, gpus: Option<&Gpus>) -> Result<()> {
        self.launch(gpus)?;
        let path = match self.software {
            Software::Stock => "/healthz",
            Software::Gpulet => "/readyz",
        };
        wait::until("the agent to be up", START_LIMIT, async || {
            self.alive()?;
            let answer = self.http_get(10248, path).await?;
            ensure!(answer.starts_with("HTTP/1.1 200"), "it says {answer}");
            Ok(())
        })
        .await
    }

    /// Starts it without waiting for anything.
    pub fn launch(&mut self, gpus: Option<&Gpus>) -> Result<()> {
        if self.software == Software::Stock {
            stock::prepare(&self.footprint, &self.root())?;
        }
        self.process = Some(Process::start("agent", self.command(gpus)?, &self.log)?);
        Ok(())
    }

    /// Whether it was started and not stopped.
    pub fn is_started(&self) -> bool {
        self.process.is_some()
    }

    /// Its process id.
    pub fn pid(&self) -> Result<u32> {
        Ok(self
            .process
            .as_ref()
            .context("the agent is not started")?
            .pid())
    }

    /// An error when it has ended by itself.
    pub fn alive(&mut self) -> Result<()> {
        self.process
            .as_mut()
            .context("the agent is not started")?
            .alive()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process = None;
        self.killed = true;
    }

    /// Whether it was ever killed, perhaps in the middle of a call to containerd.
    pub(crate) fn was_killed(&self) -> bool {
        self.killed
    }

    /// SIGTERM, and the end with code 0 within 10 s.
    pub async fn stop(&mut self) -> Result<()> {
        let mut process = self.process.take().context("the agent is not started")?;
        process.signal(Signal::TERM)?;
        let status = process.ended(STOP_LIMIT).await?;
        ensure!(
            status.success(),
            "after SIGTERM the agent ended with {status}"
        );
        Ok(())
    }

    /// Runs gpuctl against this agent.
    pub fn gpuctl(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = self.netns.command(&self.bed.gpuctl()?);
        command
            .env(MARK, self.footprint.name())
            .arg("--socket")
            .arg(self.socket());
        command
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .context("starting gpuctl")
    }

    /// What gpuctl prints, an error when its code is not 0.
    pub fn gpuctl_text(&self, arguments: &[&str]) -> Result<String> {
        let output = self.gpuctl(arguments)?;
        let (out, err) = (
            String::from_utf8(output.stdout)?,
            String::from_utf8_lossy(&output.stderr),
        );
        ensure!(
            output.status.success(),
            "gpuctl {arguments:?}: {} {out}{err}",
            output.status
        );
        Ok(out)
    }

    /// What gpuctl prints with `-o json`.
    pub fn gpuctl_json(&self, arguments: &[&str]) -> Result<Value> {
        let text = self.gpuctl_text(&[arguments, &["-o", "json"]].concat())?;
        serde_json::from_str(&text).with_context(|| format!("gpuctl {arguments:?} printed {text}"))
    }

    /// GET from a port of the node's loopback; the whole answer as text.
    pub async fn http_get(&self, port: u16, path: &str) -> Result<String> {
        let loopback = ([127, 0, 0, 1], port).into();
        self.netns.http_get(loopback, path).await
    }

    /// The table of pods, for a failure's report.
    pub(crate) fn pods_table(&self) -> String {
        if self.process.is_none() {
            return "the agent does not run".to_owned();
        }
        if self.software == Software::Stock {
            return "the agent is the stock kubelet".to_owned();
        }
        self.gpuctl_text(&["pods"])
            .unwrap_or_else(|error| format!("{error:#}"))
    }

    /// What the agent should have cleaned up once it has no pods: pod folders, mounts, pod cgroups.
    pub(crate) fn left(&self) -> Result<Vec<String>> {
        let mut left = Vec::new();
        for entry in fs::read_dir(self.root().join("pods")).into_iter().flatten() {
            left.push(format!("pod folder {}", entry?.path().display()));
        }
        let root = self.root();
        // The root itself is a mount where the stock kubelet runs.
        let mounts = self
            .footprint
            .mounts()
            .into_iter()
            .filter(|mount| mount.starts_with(&root) && *mount != root);
        left.extend(mounts.map(|mount| format!("mount {}", mount.display())));
        // One line for a pod, not one for each hierarchy.
        let names = self.footprint.cgroups().into_iter().filter_map(|cgroup| {
            let name = cgroup.file_name()?.to_string_lossy().into_owned();
            name.starts_with("pod").then_some(name)
        });
        left.extend(
            names
                .collect::<BTreeSet<_>>()
                .into_iter()
                .map(|pod| format!("cgroup {pod}")),
        );
        Ok(left)
    }

    /// Removes what a kubelet is given or keeps for good: the mount of its root folder, and the cgroups of the node,
    /// kubepods and its classes. One that still holds a pod cannot be removed and is an error.
    pub(crate) fn remove_surroundings(&self) -> Result<()> {
        if self.footprint.mounts().contains(&self.root()) {
            unmount(self.root(), UnmountFlags::empty()).context("unmounting the root folder")?;
        }
        if self.software == Software::Stock {
            stock::remove_log_links(&self.footprint)?;
        }
        for cgroup in self.footprint.cgroups() {
            remove_cgroup(&cgroup)?;
        }
        Ok(())
    }
}
