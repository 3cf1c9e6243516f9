//! Door to what is wanted: the kubelet's configuration, pods from manifest files and from the API.
//!
//! In: a KubeletConfiguration file with drop-ins and flags; a folder of manifests; an API server. Out:
//! typed settings with every default filled in; the present pods of folder and API as snapshots that
//! are sent again whenever they changed, with a problem for everything that is not a usable pod; what
//! manifests refer to; in the API the statuses of pods, the node with its lease, and events.
//!
//! An API server that is slow, absent or wrong takes nothing away from a pod that runs.
//!
//! No file here, whatever it is and whatever it holds, stops the agent, blocks it, or changes
//! anything about the pods of other files. No pod is stopped because its file turned bad. Nothing
//! here starts, stops or looks at a container.

mod access;
mod api_error;
mod configuration;
mod connection;
mod document;
mod events;
mod files;
mod manifest;
mod node;
mod objects;
mod pods;
mod problem;
mod request;
mod status;
#[cfg(test)]
mod testing;
mod validate;

pub use access::{AccessSettings, ApiAccess};
pub use api_error::{api_fail, retry_after};
pub use configuration::{
    AccessReview, Anonymous, Authentication, Authorization, ConfigurationError, CrashLoopBackOff,
    DurationError, Eviction, GoDuration, Images, KubeletConfiguration, Layers, Loaded, Logging,
    Logs, MemorySwap, Network, Node, Pods, ReservedMemory, Resources, Server, ShutdownByPriority,
    TokenReview, UserNamespaces, X509, load,
};
pub use connection::{
    Connection, ConnectionError, ConnectionSettings, NodeAddress, Rate, ServingCertificate,
    ServingNames, ServingSettings,
};
pub use document::DocumentError;
pub use events::{EventSettings, write_events};
pub use files::{FileSourceSettings, follow_files};
pub use manifest::container_hash;
pub use node::{NodeFlags, NodeInputs, NodeSettings, OfferFacts, RunningNode, offer, start_node};
pub use objects::{ApiObjects, NoObjects, ObjectSettings};
pub use pods::{ApiPods, MirrorInputs, follow_pods, keep_mirrors};
pub use problem::Problem;
pub use status::{NodeFacts, StatusInputs, render, write_statuses};
pub use validate::{Finding, Severity, Validation, validate};
