//! Where facts come from: the agent, or NVML itself when no agent answers.

mod agent;
mod direct;

use std::path::{Path, PathBuf};

use gpu_probe::ProbeSettings;

pub(crate) use agent::{Agent, AgentError};

use crate::output::note;
use crate::record::{Machine, Pod};

/// First argument of this program when it is the process that talks to NVML. Nobody types it.
pub(crate) const PROBE_ARGUMENT: &str = "nvml-probe";

/// Where facts come from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    socket: PathBuf,
    probe: ProbeSettings,
}

impl Source {
    pub(crate) fn new(
        socket: PathBuf,
        nvml_library: Option<PathBuf>,
        driver_root: Option<PathBuf>,
    ) -> Self {
        // With `/` it is the loader that finds it.
        let root = driver_root.filter(|root| root != Path::new("/"));
        let probe = ProbeSettings {
            library: nvml_library,
            search: root
                .map(|root| gpu_cdi::library_folders(&root))
                .unwrap_or_default(),
            ..ProbeSettings::for_this_program(PROBE_ARGUMENT)
        };
        Self { socket, probe }
    }

    /// The agent, for what nobody else knows.
    pub(crate) async fn agent(&self) -> Result<Agent, AgentError> {
        Agent::connect(&self.socket).await
    }

    /// All GPUs, whoever tells. A line on standard error if it is not the agent.
    pub(crate) async fn machine(&self) -> Machine {
        let (machine, without_agent) = self.ask().await;
        without_agent.iter().for_each(|why| note(why));
        machine
    }

    /// All GPUs, and in words why it was not the agent who told.
    pub(crate) async fn ask(&self) -> (Machine, Option<String>) {
        let told = async { self.agent().await?.machine().await };
        match told.await {
            Ok(machine) => (machine, None),
            Err(error) => (
                direct::machine(self.probe.clone()).await,
                Some(without_agent(&error)),
            ),
        }
    }

    /// All GPUs and pods; no pods when no agent answers.
    pub(crate) async fn machine_and_pods(&self) -> (Machine, Option<Vec<Pod>>) {
        let told = async {
            let agent = self.agent().await?;
            Ok((agent.machine().await?, Some(agent.pods().await?)))
        };
        match told.await {
            Ok(told) => told,
            Err(error) => {
                note(&without_agent(&error));
                (direct::machine(self.probe.clone()).await, None)
            }
        }
    }
}

fn without_agent(error: &AgentError) -> String {
    format!("{error}: read from NVML, no pods, no history")
}
