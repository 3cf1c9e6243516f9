//! This machine as a node of a cluster: its Node object, status and lease.
//!
//! In: settings, and what host, runtime and devices say. Out: the Node object in the API, kept true;
//! the lease; the newest Node object for others.
//!
//! Two agents with one node name never fight: the second one waits until the first one's lease has run
//! out. A Node object that is deleted comes back. Resources that devices are never shrink because the
//! agent restarts. Nothing here touches a pod, and losing the API server costs heartbeats alone.

mod addresses;
mod book;
mod calls;
mod claim;
mod conditions;
mod facts;
mod features;
mod follow;
mod gather;
mod images;
mod jitter;
mod labels;
mod lease;
mod offer;
mod patch;
mod register;
mod render;
mod resources;
mod run;
mod settings;
mod status;
mod taints;
#[cfg(test)]
pub(crate) mod testing;
mod thresholds;
mod troubles;
mod unready;
mod write;

pub(crate) use calls::{CallError, within};
pub(crate) use facts::api_time;
pub(crate) use jitter::chance;
pub use offer::{OfferFacts, offer};
pub use run::{NodeInputs, RunningNode, start_node};
pub use settings::{NodeFlags, NodeSettings};
