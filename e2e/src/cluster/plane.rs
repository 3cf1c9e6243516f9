//! The control plane: etcd, API server, controllers, scheduler, each a process that can be stopped and started.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use super::component::Component;
use super::connect;
use super::identity::{Identity, User};
use super::kubectl::Kubectl;
use super::objects::Objects;
use super::roles;
use crate::bed::Bed;
use crate::footprint::{Footprint, MARK};
use crate::netns::Netns;
use crate::process::{Process, tail};
use crate::wait;

/// etcd and the API server need 4 s together on a quiet machine; a loaded one gets its time.
const START_LIMIT: Duration = Duration::from_secs(120);
/// What a component gets for its orderly end. The API server stops listening at once, but may then wait a minute for
/// connections that somebody keeps open.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// A control plane in a node's namespace and folders.
#[derive(Debug)]
pub struct ControlPlane {
    bed: Bed,
    footprint: Footprint,
    netns: Netns,
    logs: PathBuf,
    /// Added to the command lines.
    flags: Vec<(Component, String)>,
    identity: Identity,
    objects: Objects,
    kubectl: Kubectl,
    processes: BTreeMap<Component, Process>,
    ended: bool,
}

/// Where a control plane is to be.
pub(super) struct Place {
    pub(super) bed: Bed,
    pub(super) footprint: Footprint,
    pub(super) netns: Netns,
    pub(super) logs: PathBuf,
}

impl ControlPlane {
    /// Makes certificates, starts etcd and API server, and creates what kubeadm would. Controllers and scheduler are
    /// started but not waited for: a node can begin meanwhile.
    pub(super) async fn start_all(
        place: Place,
        flags: Vec<(Component, String)>,
    ) -> Result<ControlPlane> {
        let folder = place.footprint.data_folder().join("cluster");
        let identity = Identity::create(folder)?;
        let client = connect::client(&place.netns, &identity.kubeconfig(User::Admin)).await?;
        let (bed, netns) = (&place.bed, &place.netns);
        let admin = identity.kubeconfig(User::Admin);
        let kubectl = Kubectl::new(bed, netns, &place.footprint, admin)?;
        let mut plane = ControlPlane {
            bed: place.bed,
            footprint: place.footprint,
            netns: place.netns,
            logs: place.logs,
            flags,
            identity,
            objects: Objects::new(client),
            kubectl,
            processes: BTreeMap::new(),
            ended: false,
        };
        for component in [Component::Etcd, Component::ApiServer] {
            plane.start(component).await?;
        }
        for component in [Component::ControllerManager, Component::Scheduler] {
            plane.launch(component)?;
        }
        for object in roles::objects() {
            plane.objects.apply(&object).await?;
        }
        Ok(plane)
    }

    /// Starts a component and waits until it answers.
    pub async fn start(&mut self, component: Component) -> Result<()> {
        self.launch(component)?;
        self.answers(component).await
    }

    /// Waits until a started component answers.
    pub async fn answers(&mut self, component: Component) -> Result<()> {
        let what = format!("an answer of {}", component.name());
        let netns = self.netns.clone();
        let objects = self.objects.clone();
        let log = self.log_file(component);
        let process = self.processes.get_mut(&component).context("not started")?;
        let address = SocketAddr::from(([127, 0, 0, 1], component.port()));
        let answer = wait::until(&what, START_LIMIT, async || {
            process.alive()?;
            match component {
                Component::ApiServer => {
                    let said = objects.text("/readyz").await?;
                    ensure!(said == "ok", "/readyz says {said}");
                }
                Component::Etcd | Component::Proxy => {
                    let path = if component == Component::Etcd {
                        "/health"
                    } else {
                        "/healthz"
                    };
                    let said = netns.http_get(address, path).await?;
                    ensure!(said.starts_with("HTTP/1.1 200"), "{path} says {said}");
                }
                // Their health is behind certificates of their own making; that the port is there says enough.
                Component::ControllerManager | Component::Scheduler => {
                    netns.connect(address).await?;
                }
            }
            Ok(())
        });
        answer.await.with_context(|| {
            format!(
                "the last words of {}:\n{}",
                component.name(),
                tail(&log, 20)
            )
        })
    }

    /// Starts a component without waiting for anything.
    pub fn launch(&mut self, component: Component) -> Result<()> {
        let mut command = self
            .netns
            .command(&self.bed.controlplane(component.name())?);
        let data = self.footprint.data_folder().join("cluster/etcd");
        command
            .args(component.arguments(&self.identity, &data))
            .args(
                self.flags
                    .iter()
                    .filter(|(of, _)| *of == component)
                    .map(|(_, flag)| flag),
            )
            .env(MARK, self.footprint.name())
            .env_remove("E2E_OUT");
        let process = Process::start(component.name(), command, &self.log_file(component))?;
        self.processes.insert(component, process);
        Ok(())
    }

    /// Ends a component: in order, or by force when that takes more than 5 s.
    pub async fn stop(&mut self, component: Component) -> Result<()> {
        let mut process = self.processes.remove(&component).context("not started")?;
        process.signal(Signal::TERM)?;
        if process.ended(STOP_LIMIT).await.is_err() {
            process.kill();
        }
        Ok(())
    }

    /// Kills a component at once.
    pub fn kill(&mut self, component: Component) {
        self.processes.remove(&component);
    }

    /// Sends a component a signal; STOP makes it hang until CONT.
    pub fn signal(&self, component: Component, signal: Signal) -> Result<()> {
        let process = self.processes.get(&component).context("not started")?;
        process.signal(signal)
    }

    /// A component's log so far.
    pub fn log(&self, component: Component) -> String {
        String::from_utf8_lossy(&fs::read(self.log_file(component)).unwrap_or_default())
            .into_owned()
    }

    /// Path of somebody's kubeconfig.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        self.identity.kubeconfig(user)
    }

    /// Path of a file of the cluster's certificates, such as `ca.crt` or the node's `kubelet.crt` and `kubelet.key`.
    pub fn certificate(&self, file: &str) -> PathBuf {
        self.identity.file(file)
    }

    /// The objects of the API, as the administrator.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    pub(super) fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// Kills everything: nothing of a cluster that ends is worth an orderly stop.
    pub(super) fn end(&mut self) {
        self.processes.clear();
        self.ended = true;
    }

    fn log_file(&self, component: Component) -> PathBuf {
        // A scenario with several clusters has one file for each.
        let node = self.footprint.name();
        self.logs.join(format!("{}-{node}.log", component.name()))
    }
}

impl Drop for ControlPlane {
    /// One that was not ended in order says what the cluster looked like.
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut report = self.kubectl.picture();
        for component in self.processes.keys() {
            let file = self.log_file(*component);
            report += &format!("--- {}\n{}\n", file.display(), tail(&file, 5));
        }
        tracing::error!("{report}");
    }
}
