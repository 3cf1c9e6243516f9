//! A private containerd: its configuration, its start, the images it is given.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use crate::bed::{Bed, Runtime};
use crate::cri::Cri;
use crate::footprint::{Footprint, MARK};
use crate::netns::Netns;
use crate::process::Process;
use crate::{images, wait};

/// Measured at 0.1 to 0.2 s; a loaded machine gets its time.
const START_LIMIT: Duration = Duration::from_secs(30);

/// containerd of one node.
#[derive(Debug)]
pub struct Containerd {
    process: Process,
    cri: Cri,
    start: Start,
}

/// All that is needed to start it, again and again.
#[derive(Debug, Clone)]
pub struct Start {
    /// Where its programs are.
    pub bed: Bed,
    /// Which series runs.
    pub runtime: Runtime,
    /// Whether its own CDI injection is on.
    pub cdi: bool,
    /// The node's name and folders.
    pub footprint: Footprint,
    /// The node's network.
    pub netns: Netns,
    /// Where its log goes.
    pub log: PathBuf,
}

impl Start {
    /// Its CRI socket.
    pub fn socket(&self) -> PathBuf {
        self.footprint.run_folder().join("containerd.sock")
    }

    /// Its state folder, where the bundles of running containers lie.
    pub fn state(&self) -> PathBuf {
        self.footprint.run_folder().join("containerd")
    }

    /// Where it and the agent look for CDI documents.
    pub fn cdi_folder(&self) -> PathBuf {
        self.footprint.data_folder().join("cdi")
    }

    /// Writes the configuration and starts it for the first time, images included.
    pub async fn first(self) -> Result<Containerd> {
        let data = self.footprint.data_folder();
        for folder in ["net.d", "cdi"] {
            fs::create_dir_all(data.join(folder))?;
        }
        fs::write(data.join("net.d/10-node.conflist"), cni(&data))?;
        fs::write(data.join("containerd.toml"), self.configuration())?;
        let containerd = self.again().await?;
        containerd.import_images()?;
        Ok(containerd)
    }

    /// Starts it over the state that is there.
    pub async fn again(self) -> Result<Containerd> {
        let mut command = self
            .netns
            .command(&self.bed.containerd(self.runtime, "containerd"));
        command
            .arg("--config")
            .arg(self.footprint.data_folder().join("containerd.toml"));
        // The shim is looked up on PATH before anywhere else.
        let path = std::env::var("PATH").unwrap_or_default();
        let shims = self.bed.containerd(self.runtime, "");
        command.env(
            "PATH",
            format!("{}:/usr/sbin:/sbin:{path}", shims.display()),
        );
        command.env(MARK, self.footprint.name());
        let mut process = Process::start("containerd", command, &self.log)?;
        let socket = self.socket();
        let cri = Cri::connect(&socket)?;
        wait::until("containerd's first answer", START_LIMIT, async || {
            process.alive()?;
            cri.version().await
        })
        .await?;
        Ok(Containerd {
            process,
            cri,
            start: self,
        })
    }

    fn configuration(&self) -> String {
        let data = self.footprint.data_folder();
        let (data, state, socket) = (data.display(), self.state(), self.socket());
        let (state, socket, cni) = (state.display(), socket.display(), self.bed.cni_plugins());
        let (cni, cdi, pause) = (cni.display(), self.cdi, images::PAUSE);
        let (version, plugin, bin, image) = match self.runtime {
            Runtime::V1_7 => (
                2,
                "io.containerd.grpc.v1.cri",
                format!("bin_dir = \"{cni}\""),
                format!("[plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"{pause}\""),
            ),
            Runtime::V2 => (
                3,
                "io.containerd.cri.v1.runtime",
                format!("bin_dirs = [\"{cni}\"]"),
                format!(
                    "[plugins.\"io.containerd.cri.v1.images\".pinned_images]\nsandbox = \"{pause}\"\n\
                     [plugins.\"io.containerd.cri.v1.runtime\"]"
                ),
            ),
        };
        // Network namespaces of pods lie in the state folder and optional plugins are off, so that nothing is left
        // outside the node's own folders. Some machines have no CAP_SYS_RESOURCE, even for root: without
        // restrict_oom_score_adj every sandbox would fail there.
        format!(
            r#"version = {version}
root = "{data}/containerd"
state = "{state}"
disabled_plugins = ["io.containerd.nri.v1.nri"]
[grpc]
address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
path = "{data}/opt"
{image}
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
enable_cdi = {cdi}
cdi_spec_dirs = ["{data}/cdi"]
[plugins."{plugin}".cni]
{bin}
conf_dir = "{data}/net.d"
[plugins."{plugin}".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."{plugin}".containerd.runtimes.runc.options]
SystemdCgroup = false
"#
        )
    }
}

impl Containerd {
    /// The CRI client that goes past any proxy.
    pub fn cri(&self) -> &Cri {
        &self.cri
    }

    /// How it was started.
    pub fn how(&self) -> &Start {
        &self.start
    }

    /// Ends it, leaving its containers alone.
    pub async fn stop(&mut self) -> Result<()> {
        self.process.signal(Signal::TERM)?;
        self.process.ended(START_LIMIT).await.map(drop)
    }

    /// Kills it at once, leaving its containers alone.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Runs `ctr` in the namespace of Kubernetes.
    pub fn ctr(&self, arguments: &[&str]) -> Result<String> {
        let ctr = self.start.bed.containerd(self.start.runtime, "ctr");
        let mut command = self.start.netns.command(&ctr);
        command
            .arg("--address")
            .arg(self.start.socket())
            .args(["--namespace", "k8s.io"]);
        let output = command.args(arguments).output().context("starting ctr")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "ctr {arguments:?}: {}",
            said.trim()
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Adds an image with the test image's files and this configuration (`config` of an image: `Cmd`, `User`, ...).
    pub fn add_image(&self, image: &str, config: &serde_json::Value) -> Result<()> {
        let folder = self.start.footprint.data_folder();
        let archive = images::with_config(&folder, image, config)?;
        self.ctr(&["images", "import", &archive.display().to_string()])?;
        Ok(fs::remove_file(archive)?)
    }

    fn import_images(&self) -> Result<()> {
        for archive in images::archives(&self.start.bed.images())? {
            self.ctr(&["images", "import", &archive.display().to_string()])?;
        }
        Ok(())
    }
}

/// Bridge with hairpin, host ports by portmap; addresses are remembered in the node's own folder.
fn cni(data: &Path) -> String {
    serde_json::json!({
        "cniVersion": "1.0.0",
        "name": "node",
        "plugins": [
            {
                "type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": true,
                "hairpinMode": true,
                "ipam": {
                    "type": "host-local", "dataDir": data.join("ipam"),
                    "ranges": [[{ "subnet": "10.88.0.0/16" }]],
                    "routes": [{ "dst": "0.0.0.0/0" }],
                },
            },
            { "type": "portmap", "capabilities": { "portMappings": true } },
        ],
    })
    .to_string()
}
