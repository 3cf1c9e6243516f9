//! Where wanted pods come from.

use std::path::PathBuf;
use std::sync::Arc;

use agent_core::PodWant;
use k8s_openapi::api::core::v1::Pod;

/// A pod that some source wants to run here. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WantedPod {
    /// What decisions read.
    pub want: Arc<PodWant>,
    /// The full manifest, opaque to the loops.
    pub manifest: Arc<Pod>,
}

/// The full present content of one source. Sources send it again whenever it changed.
#[derive(Clone, Debug, Default)]
pub struct SourceSnapshot {
    /// Pods, in a stable order.
    pub pods: Vec<WantedPod>,
    /// What could not be used, and why.
    pub problems: Vec<SourceProblem>,
}

/// A file that is not (or no longer) a usable pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceProblem {
    /// Which file.
    pub path: PathBuf,
    /// What is wrong, where, and what to do.
    pub message: String,
    /// The pod that goes on from the last good content of this file, if there is one.
    pub running_on: Option<agent_core::PodName>,
}
