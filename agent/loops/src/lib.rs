//! Owner tasks of the agent, their mailboxes, and the ports through which they reach the world.
//!
//! In: snapshots of pod sources, what the runtime shows, results of actions, devices that change.
//! Out: calls through the ports, a board of pods, events, present problems.
//!
//! | Owner | Owns |
//! |---|---|
//! | `supervisor` | the roster: which pods there are, who starts, stops, waits |
//! | `pod`, one each | the pod's memory, its actions in flight, its probes |
//! | `pleg` | the watch over the runtime |
//! | `images` | what is known of images, pulls under way |
//! | `logs` | rotation of container logs |
//!
//! Nothing here decides about restarts, order, status or who may run: that is `agent-core`'s.
//! Nothing here knows which runtime, host or device stands behind a port, or reads a manifest.
//! Nothing is removed without the last rung of `startup` as proof, nothing waits on a lock over an
//! await, and no panic in the task of a pod ends the agent.

mod agent;
mod around;
mod clock;
mod events;
mod hooks;
mod images;
mod logs;
mod mailbox;
mod pleg;
mod pod;
pub mod ports;
mod probes;
mod problems;
mod settings;
mod slots;
mod snapshot;
mod startup;
mod supervisor;

pub use agent::{Agent, Source, Telling, start};
pub use clock::Clock;
pub use events::{AgentEvent, EventKind, EventLog, Subject};
pub use images::PullLimits;
pub use pleg::{RuntimeWatch, WatchMode};
pub use problems::{Area, Problem, ProblemBoard, Problems};
pub use settings::{Doors, Settings};
pub use snapshot::{PodBoard, PodSnapshot};
