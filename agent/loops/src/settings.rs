//! What the owner tasks are given: the ways out into the world, and settings.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{NodeOffer, Rules};
use tokio::sync::watch;

use crate::images::PullLimits;
use crate::ports::{Asker, Devices, Host, Keyring, Objects, Runtime};

/// The ways out: every effect on the world goes through one of these.
#[derive(Clone, Debug)]
pub struct Doors {
    /// The container runtime.
    pub runtime: Arc<dyn Runtime>,
    /// This host.
    pub host: Arc<dyn Host>,
    /// Devices.
    pub devices: Arc<dyn Devices>,
    /// Network questions to pods.
    pub asker: Arc<dyn Asker>,
    /// Objects that manifests refer to.
    pub objects: Arc<dyn Objects>,
    /// Credentials for registries.
    pub keyring: Arc<dyn Keyring>,
    /// What this node offers, for admission; `None` while it is not known, or where nobody but its
    /// operator gives it pods: then nothing is refused.
    pub offer: watch::Receiver<Option<Arc<NodeOffer>>>,
}

/// Settings of the loops.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What decisions read.
    pub rules: Rules,
    /// Addresses of the node, primary first, at least one: those of pods on the host network.
    pub node_ips: Vec<IpAddr>,
    /// Pods that may start side by side, at least 1.
    pub start_slots: usize,
    /// Limits on image pulls.
    pub pulls: PullLimits,
    /// Stock `containerLogMonitorInterval`, at least 1 s.
    pub log_interval: Duration,
}

impl Settings {
    /// Start slots when nothing is configured: starting is mostly waiting, so two for each core, and
    /// at least four.
    pub fn default_start_slots(cores: usize) -> usize {
        cores.saturating_mul(2).max(4)
    }
}
