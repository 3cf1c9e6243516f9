//! KubeletConfiguration `kubelet.config.k8s.io/v1beta1`: every field of Kubernetes 1.37 with its
//! default, from a file, drop-ins and flags.

mod acted;
mod check;
mod duration;
mod eviction;
mod field;
mod images;
mod layers;
mod logs;
mod network;
mod node;
mod pods;
mod resources;
mod server;
mod shown;

use serde_json::{Map, Value};

pub use duration::{DurationError, GoDuration};
pub use eviction::Eviction;
pub use images::Images;
pub use layers::{ConfigurationError, Layers, Loaded, load};
pub use logs::{Logging, Logs};
pub use network::Network;
pub use node::{Node, ShutdownByPriority};
pub use pods::{CrashLoopBackOff, Pods, UserNamespaces};
pub use resources::{MemorySwap, ReservedMemory, Resources};
pub use server::{
    AccessReview, Anonymous, Authentication, Authorization, Server, TokenReview, X509,
};

use field::{Group, Report};

/// All settings, grouped by topic. A default one is what an empty file gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KubeletConfiguration {
    /// Sources and limits of pods.
    pub pods: Pods,
    /// Runtime sockets, pulls, image collection.
    pub images: Images,
    /// cgroups, managers, reservations.
    pub resources: Resources,
    /// Container logs and the agent's own.
    pub logs: Logs,
    /// DNS and legacy network settings.
    pub network: Network,
    /// HTTPS server, health server and handlers.
    pub server: Server,
    /// Registration, status, API budget, shutdown, process limits.
    pub node: Node,
    /// When pods have to go because the node runs short.
    pub eviction: Eviction,
}

impl KubeletConfiguration {
    /// Reads the fields of a document; what stays in `map` is unknown.
    fn take(map: &mut Map<String, Value>, report: &mut Report) -> Self {
        Self {
            pods: Pods::take(map, "", report),
            images: Images::take(map, "", report),
            resources: Resources::take(map, "", report),
            logs: Logs::take(map, "", report),
            network: Network::take(map, "", report),
            server: Server::take(map, "", report),
            node: Node::take(map, "", report),
            eviction: Eviction::take(map, "", report),
        }
    }

    /// Fields whose value is not the default.
    fn changed(&self) -> Vec<&'static str> {
        [
            self.pods.changed(),
            self.images.changed(),
            self.resources.changed(),
            self.logs.changed(),
            self.network.changed(),
            self.server.changed(),
            self.node.changed(),
            self.eviction.changed(),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests;
