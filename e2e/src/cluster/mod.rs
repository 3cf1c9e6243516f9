//! A cluster: a real control plane and one node, which joins it. A scenario reads like this:
//!
//! ```no_run
//! use e2e::{Cluster, ClusterSetup, DEPLOYMENT, POD, ensure_ready, staying_containers};
//! use serde_json::json;
//!
//! # async fn run() -> anyhow::Result<()> {
//! let cluster = Cluster::start(ClusterSetup::plain()?).await?;
//! let pod = json!({ "containers": staying_containers() });
//! cluster.objects().apply(&e2e::deployment("web", 2, pod)).await?;
//! cluster.objects().until(DEPLOYMENT, "web", |web| ensure_ready(web, 2)).await?;
//! let table = cluster.kubectl.run(&["get", "pods", "-o", "wide"]).await?;
//! anyhow::ensure!(table.matches("Running").count() == 2, "{table}");
//! for pod in cluster.objects().list(POD, "app=web").await? {
//!     anyhow::ensure!(pod["spec"]["nodeName"] == e2e::HOSTNAME);
//! }
//! cluster.finish().await
//! # }
//! ```
//!
//! - `cluster.objects()` makes, changes, lists and above all waits for objects (as JSON) by watching them.
//! - `cluster.kubectl` is the real kubectl, for what kubectl itself does: logs, exec, apply, rollout.
//! - `cluster.node` is the node as in scenarios without a cluster: `cri()` is the independent witness, `agent` the agent
//!   that `NODE` names, `containerd`, `proxy` and `gpus` its surroundings.
//! - `cluster.plane` stops and starts the API server and the others.
//!
//! Everything lies in the node's own network namespace and folders. `finish` deletes the workloads through the API and
//! fails when anything of them is left; a cluster that is dropped instead prints what it looked like.

mod certificates;
mod component;
mod connect;
mod identity;
mod kind;
mod kubectl;
mod manifests;
mod objects;
mod plane;
mod registry;
mod roles;
mod setup;
pub(crate) mod stock;
mod unsteady;

use anyhow::{Context, Result, ensure};
use http::Method;

pub use component::Component;
pub use identity::{STRANGER, User};
pub use kind::*;
pub use kubectl::Kubectl;
pub use manifests::{
    api_pod, condition, deployment, ensure_ready, labelled, metadata, staying_containers,
};
pub use objects::Objects;
pub use plane::ControlPlane;
pub use registry::Registry;
pub use setup::{ClusterSetup, Join};
pub use unsteady::{Trouble, Unsteady};

use crate::agent::HOSTNAME;
use crate::node::Node;
use plane::Place;

/// A control plane and a node.
#[derive(Debug)]
pub struct Cluster {
    /// The control plane. It stands before the node, so that it is dropped first.
    pub plane: ControlPlane,
    /// kubectl as the administrator.
    pub kubectl: Kubectl,
    /// The node; its agent is gpulet or the stock kubelet.
    pub node: Node,
}

impl Cluster {
    /// Starts everything and waits until the node is Ready and pods can be made.
    pub async fn start(setup: ClusterSetup) -> Result<Cluster> {
        let mut cluster = Cluster::without_agent(setup).await?;
        cluster.start_agent().await?;
        Ok(cluster)
    }

    /// The same without starting the agent; `start_agent` does.
    pub async fn without_agent(setup: ClusterSetup) -> Result<Cluster> {
        let mut node = Node::start(setup.node.clone()).await?;
        let place = Place {
            bed: node.bed().clone(),
            footprint: node.footprint().clone(),
            netns: node.containerd.how().netns.clone(),
            logs: node.bed().output(),
        };
        let mut plane = ControlPlane::start_all(place, setup.component_flags()).await?;
        node.configure_agent(&(setup.node.kubelet.clone() + &setup.kubelet_lines(&plane)?))?;
        let folder = node.footprint().data_folder();
        let arguments = setup.agent_arguments(&plane, &folder.display().to_string());
        node.agent.software = setup.software;
        node.agent.arguments.extend(arguments);
        if setup.proxy {
            plane.launch(Component::Proxy)?;
        }
        let kubectl = plane.kubectl().clone();
        Ok(Cluster {
            plane,
            kubectl,
            node,
        })
    }

    /// Starts the agent and waits until the node is Ready, the controllers make service accounts, and the scheduler is
    /// up.
    pub async fn start_agent(&mut self) -> Result<()> {
        self.node.start_agent().await?;
        self.objects()
            .until(NODE, HOSTNAME, |node| condition(node, "Ready", "True"))
            .await?;
        // Without it no pod is let in.
        self.objects()
            .until(SERVICE_ACCOUNT, "default", |_| Ok(()))
            .await?;
        self.plane.answers(Component::Scheduler).await
    }

    /// The objects of the API.
    pub fn objects(&self) -> &Objects {
        self.plane.objects()
    }

    /// Deletes all workloads in all namespaces through the API and waits until no pod is left.
    pub async fn clear(&self) -> Result<()> {
        let objects = self.objects();
        for kind in [
            CRON_JOB,
            DEPLOYMENT,
            DAEMON_SET,
            STATEFUL_SET,
            JOB,
            REPLICA_SET,
        ] {
            for object in objects.list(kind, "").await? {
                let name = full_name(&object);
                let asked = objects.delete(kind, &name).await;
                // With its owner it may have gone meanwhile.
                if asked.is_err() && objects.get(kind, &name).await.is_ok() {
                    asked?;
                }
            }
        }
        // A controller that does not know yet that its owner is gone may make another pod meanwhile.
        loop {
            let pods = objects.list(POD, "").await?;
            for pod in pods
                .iter()
                .filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
            {
                let path = POD.path_of(&full_name(pod));
                // An error means that it has gone meanwhile; one that stays is seen below.
                let _ = objects.call(Method::DELETE, &path, None).await;
            }
            let asked: Vec<_> = pods
                .iter()
                .map(|pod| pod["metadata"]["uid"].clone())
                .collect();
            let news = objects.until_all(POD, "", |pods| {
                let old = pods
                    .iter()
                    .filter(|pod| asked.contains(&pod["metadata"]["uid"]));
                let names: Vec<_> = old.map(full_name).collect();
                ensure!(names.is_empty(), "{names:?} are not gone");
                Ok(pods.len())
            });
            if news.await.context("waiting for the end of all pods")? == 0 {
                return Ok(());
            }
        }
    }

    /// Leaves everything running and gives up the responsibility for it.
    pub fn keep(self) {
        std::mem::forget(self);
    }

    /// Ends it in order: workloads deleted, the agent's leavings looked at, agent and control plane ended, nothing left.
    ///
    /// # Errors
    /// What is still there after a step that should have taken it away.
    pub async fn finish(mut self) -> Result<()> {
        if self.node.agent.is_started() {
            self.clear().await?;
            self.node
                .drain()
                .await
                .context("the agent left something")?;
        }
        self.plane.end();
        self.node.finish().await
    }
}

/// `namespace/name` of an object.
fn full_name(object: &serde_json::Value) -> String {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}
