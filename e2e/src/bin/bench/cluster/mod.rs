//! Rows with a real control plane.

mod burst;
mod idle;
mod pod;

use anyhow::{Context, Result};
use e2e::{Bare, Cluster, ClusterSetup, POD, Setup, Software, api_pod, staying_containers};
use http::Method;
use serde_json::{Value, json};

use crate::report::Row;

/// A cluster whose node has one agent after the other, and the bare calls to the same containerd.
struct Rig {
    cluster: Cluster,
    bare: Bare,
    agents: Vec<Software>,
}

/// Measures the wanted groups; with `stock` for the stock kubelet as well.
pub(crate) async fn measure(wanted: impl Fn(&str) -> bool, stock: bool) -> Result<Vec<Row>> {
    let setup = ClusterSetup {
        node: Setup::with_gpus("h200x8")?,
        software: Software::Gpulet,
        ..ClusterSetup::plain()?
    };
    let cluster = Cluster::start(setup).await?;
    // Through the same proxy, so that its cost is in both.
    let bare = Bare::connect(cluster.node.proxy.socket(), cluster.node.footprint())?;
    // gpulet last: bare calls are made beside it, since the stock kubelet removes what it does not know.
    let stock = stock.then_some(Software::Stock);
    let agents = stock.into_iter().chain([Software::Gpulet]).collect();
    let mut rig = Rig {
        cluster,
        bare,
        agents,
    };
    let mut rows = Vec::new();
    if wanted("pod") {
        rows.extend(pod::measure(&mut rig).await?);
    }
    if wanted("burst") {
        rows.extend(burst::measure(&mut rig).await?);
    }
    if wanted("idle") {
        rows.extend(idle::measure(&mut rig).await?);
    }
    rig.run(Software::Gpulet).await?;
    if rig.agents.contains(&Software::Stock) {
        // What it leaves behind is taken away after it, whoever runs now.
        rig.cluster.node.agent.software = Software::Stock;
    }
    rig.cluster.finish().await?;
    Ok(rows)
}

impl Rig {
    /// Has the node run this agent.
    async fn run(&mut self, software: Software) -> Result<()> {
        let agent = &mut self.cluster.node.agent;
        if agent.software != software {
            agent.stop().await?;
            agent.software = software;
            self.cluster.start_agent().await?;
        }
        Ok(())
    }

    /// Creates a pod of one container that stays.
    async fn create(&self, name: &str, label: &str) -> Result<()> {
        let spec = json!({ "containers": staying_containers() });
        let mut pod = api_pod(name, spec);
        pod["metadata"]["labels"] = json!({ "app": label });
        let body = Some(("application/json", &pod));
        self.cluster
            .objects()
            .call(Method::POST, &POD.folder_of(name), body)
            .await?;
        Ok(())
    }
}

impl Row {
    /// The samples of this agent.
    fn of(&mut self, software: Software) -> &mut Vec<f64> {
        match software {
            Software::Gpulet => &mut self.gpulet,
            Software::Stock => &mut self.stock,
        }
    }
}

fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running"
}

fn name_of(object: &Value) -> Result<&str> {
    object["metadata"]["name"]
        .as_str()
        .context("an object has a name")
}
