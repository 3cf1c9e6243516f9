//! Rehearsal room: a world in memory for the agent's loops, in virtual time, with crashes.
//!
//! In: pods, container scripts, faults, the weather of the event stream. Out: what is in the world,
//! every call that was made, and violations of what must hold at every moment. The world outlives the
//! agent, so an agent may be dropped after any of its calls and started again on the same world.
//!
//! For tests only; nothing that ships depends on it. Needs a current-thread tokio runtime with paused
//! time. No GPU, runtime or host is touched.

mod asker;
mod calls;
mod devices;
mod faults;
mod host;
mod images;
mod keyring;
mod objects;
mod pods;
mod runtime;
mod script;
mod stage;
mod state;
mod summary;
mod world;

pub use calls::{Call, Verb};
pub use faults::{Fault, FaultKind, Weather};
pub use keyring::Keys;
pub use pods::{GPU, PodBuilder, pod};
pub use script::{OnTerm, Script};
pub use stage::{Stage, View, play};
pub use state::{Container, Sandbox, State};
pub use summary::{PodSummary, Summary};
pub use world::World;
