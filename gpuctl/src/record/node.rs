//! A node, its driver, and all its GPUs.

use proto::gpulet as wire;
use serde::Serialize;

use super::{Gpu, Moment};

/// Who told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Origin {
    /// The agent of this node.
    Agent,
    /// NVML, asked by this program: nothing about pods, nothing about the past.
    Nvml,
}

/// All GPUs of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Machine {
    /// Who told it.
    pub(crate) source: Origin,
    /// The agent; `null` without one.
    pub(crate) node: Option<Node>,
    /// The driver.
    pub(crate) driver: Driver,
    /// GPUs that this machine has or had.
    pub(crate) gpus_expected: u32,
    /// GPUs by index.
    pub(crate) gpus: Vec<Gpu>,
    /// How each pair of `gpus` is joined, a row for each; see `gpuctl topo`.
    pub(crate) topology: Vec<Vec<String>>,
    /// What is wrong beyond single GPUs.
    pub(crate) problems: Vec<Problem>,
}

/// The agent of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) started_at: Option<Moment>,
    /// What its start still waits for.
    pub(crate) not_ready: Vec<String>,
    pub(crate) runtime: Runtime,
    pub(crate) pods: i64,
    pub(crate) cpu_millis: i64,
    pub(crate) memory_bytes: i64,
}

/// The container runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Runtime {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) endpoint: String,
    /// It resolves CDI names; else the agent does.
    pub(crate) cdi: bool,
    pub(crate) reachable: bool,
}

/// The NVIDIA driver.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Driver {
    /// `ready`, `no-library`, `not-loaded`, `version-mismatch`, `broken`, `unresponsive` or `unknown`.
    pub(crate) state: String,
    /// What that means and what to do.
    pub(crate) detail: String,
    pub(crate) driver_version: String,
    pub(crate) nvml_version: String,
    pub(crate) cuda_version: String,
    /// The library says of itself that it is a simulator.
    pub(crate) simulated: bool,
}

/// Something that is wrong now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Problem {
    /// File, field, device or part that has it.
    pub(crate) subject: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: Option<Moment>,
}

impl Driver {
    pub(crate) fn is_ready(&self) -> bool {
        self.state == "ready"
    }
}

impl Machine {
    /// Part of what there is could not be read.
    pub(crate) fn is_partial(&self) -> bool {
        ["unresponsive", "unknown"].contains(&self.driver.state.as_str())
            || self.gpus.iter().any(|gpu| !gpu.is_read())
    }
}

impl From<(wire::NodeInfo, wire::ListGpusResponse)> for Machine {
    fn from((node, gpus): (wire::NodeInfo, wire::ListGpusResponse)) -> Self {
        let row = gpus.gpus.len().max(1);
        Self {
            source: Origin::Agent,
            driver: gpus.driver.map(Driver::from).unwrap_or_default(),
            gpus_expected: node.gpus_expected,
            gpus: gpus.gpus.into_iter().map(Gpu::from).collect(),
            topology: gpus.topology.chunks(row).map(<[String]>::to_vec).collect(),
            problems: node.problems.iter().cloned().map(Problem::from).collect(),
            node: Some(Node::from(node)),
        }
    }
}

impl From<wire::NodeInfo> for Node {
    fn from(told: wire::NodeInfo) -> Self {
        Self {
            name: told.node_name,
            version: told.version,
            started_at: Moment::told(told.started_at),
            not_ready: told.not_ready,
            runtime: told.runtime.map(Runtime::from).unwrap_or_default(),
            pods: told.pods,
            cpu_millis: told.cpu_millis,
            memory_bytes: told.memory_bytes,
        }
    }
}

impl From<wire::Runtime> for Runtime {
    fn from(told: wire::Runtime) -> Self {
        let wire::Runtime {
            name,
            version,
            endpoint,
            cdi,
            reachable,
        } = told;
        Self {
            name,
            version,
            endpoint,
            cdi,
            reachable,
        }
    }
}

impl From<wire::Driver> for Driver {
    fn from(told: wire::Driver) -> Self {
        Self {
            state: told.state,
            detail: told.detail,
            driver_version: told.driver_version,
            nvml_version: told.nvml_version,
            cuda_version: told.cuda_version,
            simulated: told.simulated,
        }
    }
}

impl From<wire::Problem> for Problem {
    fn from(told: wire::Problem) -> Self {
        Self {
            subject: told.subject,
            reason: told.reason,
            message: told.message,
            since: Moment::told(told.since),
        }
    }
}
