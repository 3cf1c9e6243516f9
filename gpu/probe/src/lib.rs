//! NVML in a supervised child process, so that a call that hangs or crashes costs one GPU's freshness
//! and never the node.
//!
//! In: where the library may lie, the command that starts the child, wishes to look now. Out: reports,
//! in order: the driver's state, facts of all GPUs, readings, events, GPUs that do not answer.
//!
//! Invariants: the parent makes no NVML call and waits for none. A report that describes a state is sent
//! once for each change, and the newest replaces one that was not yet taken; events are never dropped
//! without `ProbeReport::Missed`. A GPU that was known and does not answer is in `MachineFacts::silent`
//! with its UUID. Nothing is concluded about health. The child never outlives the parent, also when it
//! hangs or is stopped. Without a driver there is no child but for the moment of a look.

mod breaker;
mod child;
mod look;
mod monitor;
mod outbox;
mod owner;
mod process;
mod settings;
mod signs;
mod wire;

pub use child::child_main;
pub use look::{Look, Trouble, look};
pub use owner::{Probe, start};
pub use settings::ProbeSettings;
