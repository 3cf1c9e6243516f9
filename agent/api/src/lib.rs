//! Door to what is wanted: the kubelet's configuration, pods from manifest files and from the API.
//!
//! In: a KubeletConfiguration file with drop-ins and flags; a folder of manifests. Out: typed
//! settings with every default filled in; the present pods of the folder as a snapshot that is sent
//! again whenever it changed, with a problem for every file that is not a usable pod.
//!
//! No file here, whatever it is and whatever it holds, stops the agent, blocks it, or changes
//! anything about the pods of other files. No pod is stopped because its file turned bad. Nothing
//! here starts, stops or looks at a container.

mod api_error;
mod configuration;
mod connection;
mod document;
mod files;
mod manifest;
mod objects;
mod pods;
mod problem;
mod status;
mod validate;

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
pub use files::{FileSourceSettings, follow_files};
pub use manifest::{container_hash, needs};
pub use objects::NoObjects;
pub use pods::{ApiPods, MirrorInputs, follow_pods, keep_mirrors};
pub use problem::Problem;
pub use status::{NodeFacts, StatusInputs, render, write_statuses};
pub use validate::{Finding, Severity, Validation, validate};
