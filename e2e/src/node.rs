//! One test node: network namespace, containerd, proxy, agent and, where asked for, simulated GPUs, all under names
//! and folders of its own.
//!
//! A scenario ends it with `finish`, which lets the agent clean up, then takes the rest away step by step and fails
//! if anything is left at any step. A node that is dropped instead is torn down by force.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::agent::Agent;
use crate::bed::{Bed, Runtime};
use crate::containerd::{Containerd, Start};
use crate::cri::Cri;
use crate::footprint::Footprint;
use crate::gpus::Gpus;
use crate::netns::Netns;
use crate::process::tail;
use crate::proxy::Proxy;
use crate::{shims, wait};

/// What the names of all scenario nodes begin with.
pub const PREFIX: &str = "gpulet-e2e-";
/// A removed pod's stop: a grace period of the scenario's choice (seconds), sandbox and network (0.3 s), clean-up.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);

/// How a node is to be.
#[derive(Debug, Clone)]
pub struct Setup {
    /// containerd's series.
    pub runtime: Runtime,
    /// Whether containerd's own CDI injection is on.
    pub cdi: bool,
    /// Machine profile of the GPU simulator; none means no driver at all.
    pub gpus: Option<&'static str>,
    /// Lines that are added to the KubeletConfiguration.
    pub kubelet: String,
    /// The node's whole name; one made from the process id when absent.
    pub name: Option<&'static str>,
    /// Whether the agent talks to containerd past the proxy, which lives only as long as this process.
    pub direct: bool,
}

impl Setup {
    /// A node without GPUs on the series that the environment asks for.
    pub fn plain() -> Result<Setup> {
        let runtime = Runtime::from_env()?;
        Ok(Setup {
            runtime,
            cdi: true,
            gpus: None,
            kubelet: String::new(),
            name: None,
            direct: false,
        })
    }

    /// The same with simulated GPUs.
    pub fn with_gpus(profile: &'static str) -> Result<Setup> {
        Ok(Setup {
            gpus: Some(profile),
            ..Setup::plain()?
        })
    }
}

/// A node that runs.
#[derive(Debug)]
pub struct Node {
    /// containerd.
    pub containerd: Containerd,
    /// What lies between the agent and containerd.
    pub proxy: Proxy,
    /// The agent; `agent.start()` begins it.
    pub agent: Agent,
    /// The simulated GPUs.
    pub gpus: Option<Gpus>,
    /// The runtime's socket as the agent is told it.
    endpoint: PathBuf,
    bed: Bed,
    footprint: Footprint,
    logs: PathBuf,
    count: u32,
    finished: bool,
    /// Dropped last: until then no other run takes the node for abandoned.
    _owner: File,
}

impl Node {
    /// Makes the node and starts containerd. The agent is not started.
    pub async fn start(setup: Setup) -> Result<Node> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let bed = Bed::find()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let own = || format!("{PREFIX}{}-{count}", std::process::id());
        let footprint = Footprint::of(&setup.name.map_or_else(own, str::to_owned));
        let owner = footprint.claim()?;
        // From here on a failure must take away what is there already.
        let broken = Broken(Some(footprint.clone()));
        let logs = bed.output();
        fs::create_dir_all(&logs)?;
        let log = |program: &str| logs.join(format!("{program}-{count}.log"));
        for program in ["containerd", "gpulet"] {
            File::create(log(program))?;
        }
        let netns = Netns::create(footprint.name())?;
        let start = Start {
            bed: bed.clone(),
            runtime: setup.runtime,
            cdi: setup.cdi,
            footprint: footprint.clone(),
            netns: netns.clone(),
            log: log("containerd"),
        };
        let socket = start.socket();
        let containerd = start.first().await?;
        let proxy = Proxy::start(footprint.run_folder().join("proxy.sock"), socket.clone())?;
        let state = footprint.data_folder().join("gpusim");
        let gpus = setup
            .gpus
            .map(|profile| Gpus::make(&bed, &state, profile))
            .transpose()?;
        let agent = Agent::new(&bed, &footprint, &netns, log("gpulet"));
        let runtime = if setup.direct {
            &socket
        } else {
            proxy.socket()
        };
        agent.configure(runtime, &setup.kubelet)?;
        let endpoint = runtime.to_owned();
        broken.keep();
        let finished = false;
        Ok(Node {
            containerd,
            proxy,
            agent,
            gpus,
            endpoint,
            bed,
            footprint,
            logs,
            count,
            finished,
            _owner: owner,
        })
    }

    /// Makes the node and starts the agent as well.
    pub async fn with_agent(setup: Setup) -> Result<Node> {
        let mut node = Node::start(setup).await?;
        node.start_agent().await?;
        Ok(node)
    }

    /// Starts the agent and waits until it is healthy.
    pub async fn start_agent(&mut self) -> Result<()> {
        self.agent.start(self.gpus.as_ref()).await
    }

    /// Writes the KubeletConfiguration anew, with these lines at its end, for the agent's next start.
    pub fn configure_agent(&self, lines: &str) -> Result<()> {
        self.agent.configure(&self.endpoint, lines)
    }

    /// The witness: containerd asked past the proxy.
    pub fn cri(&self) -> &Cri {
        self.containerd.cri()
    }

    /// The machine's test bed.
    pub fn bed(&self) -> &Bed {
        &self.bed
    }

    /// Folders and traces of the node.
    pub fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    /// A folder of the node for a scenario's own files.
    pub fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.footprint.data_folder().join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Where the log of a further program of the node goes.
    pub fn log_file(&self, program: &str) -> PathBuf {
        self.logs.join(format!("{program}-{}.log", self.count))
    }

    /// Leaves everything running and gives up the responsibility for it.
    pub fn keep(self) {
        std::mem::forget(self);
    }

    /// Ends the node in order: manifests away, pods gone, agent ended, containerd ended, nothing left.
    ///
    /// # Errors
    /// What is still there after a step that should have taken it away.
    pub async fn finish(mut self) -> Result<()> {
        if self.agent.is_started() {
            self.drain().await.context("the agent left something")?;
        }
        self.cri().remove_all().await?;
        let bundles = self
            .containerd
            .how()
            .state()
            .join("io.containerd.runtime.v2.task/k8s.io");
        wait::until("the last shim's end", DRAIN_LIMIT, async || {
            let left = fs::read_dir(&bundles).map_or(0, Iterator::count);
            ensure!(left == 0, "{left} bundles are left");
            Ok(())
        })
        .await?;
        if self.agent.was_killed() {
            shims::end_lost(&self.footprint, &bundles);
        }
        let links = self.containerd.how().netns.pod_links()?;
        ensure!(
            links.is_empty(),
            "links left in the node's namespace: {links:?}"
        );
        self.containerd.stop().await?;
        self.agent.remove_surroundings()?;
        let traces = self.footprint.traces();
        let expected = [self.footprint.run_folder(), self.footprint.data_folder()]
            .into_iter()
            .chain([crate::netns::path(self.footprint.name())])
            .map(|path| format!("left {}", path.display()));
        let expected: Vec<String> = expected.collect();
        let left: Vec<String> = traces
            .into_iter()
            .filter(|line| !expected.contains(line))
            .collect();
        ensure!(
            left.is_empty(),
            "the node is over, but there is:\n{}",
            left.join("\n")
        );
        self.finished = true;
        self.footprint.remove()?;
        let left = self.footprint.traces();
        ensure!(
            left.is_empty(),
            "the node is removed, but there is:\n{}",
            left.join("\n")
        );
        Ok(())
    }

    /// Takes all manifests away, waits for the pods' end, ends the agent and looks at what it left.
    pub(crate) async fn drain(&mut self) -> Result<()> {
        self.agent.remove_all_manifests()?;
        let cri = self.cri().clone();
        let agent = &self.agent;
        wait::until("the end of all pods", DRAIN_LIMIT, async || {
            let pods = cri.ready_pods().await?;
            ensure!(pods.is_empty(), "{pods:?} still run");
            let left = agent.left()?;
            ensure!(left.is_empty(), "there is still\n{}", left.join("\n"));
            Ok(())
        })
        .await?;
        self.agent.stop().await
    }

    /// What is on the machine and the ends of the logs, for a failure's report.
    fn last_words(&self) -> String {
        let mut report = self.footprint.traces().join("\n") + "\n";
        for (program, lines) in [("containerd", 15), ("gpulet", 40)] {
            let file = self.logs.join(format!("{program}-{}.log", self.count));
            report += &format!("--- {}\n{}\n", file.display(), tail(&file, lines));
        }
        report
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        tracing::error!("{}\n{}", self.agent.pods_table(), self.last_words());
        self.agent.kill();
        self.containerd.kill();
        if let Err(error) = self.footprint.remove() {
            tracing::error!("{error:#}");
        }
    }
}

/// Takes a half-made node away when it is dropped before `keep`.
struct Broken(Option<Footprint>);

impl Broken {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.as_ref().map(Footprint::remove) {
            tracing::error!("{error:#}");
        }
    }
}
