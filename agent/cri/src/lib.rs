//! Door to the container runtime: the `Runtime` and `Streaming` ports over CRI v1.
//!
//! In: specs from the loops (manifest, attempt, what the host made ready, device grants) and settings
//! of the node. Out: sandboxes, containers, and observations of them.
//!
//! Invariants: only `labels` knows the stock label and annotation names. `config` turns a manifest
//! into the runtime's terms without I/O. Every call but a pull and the event stream has a deadline.
//! A device reaches a container only through a grant. Nothing here keeps a copy of what the runtime
//! knows, decides what is to be done, or retries.

mod call;
mod config;
mod connection;
mod fail;
mod hook;
mod labels;
mod observe;
mod runtime;
mod streaming;

pub use config::{Allocatable, NodeSettings};
pub use connection::EndpointError;
pub use runtime::CriRuntime;
