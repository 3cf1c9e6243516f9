//! A node in miniature: a runtime, a holder of devices and an owner task, all in memory.
//!
//! The runtime answers as containerd does: names are reserved, removals are forcible, a call that
//! times out may have had its effect. The owner task does what `agent_core` asks of one.

mod owner;
mod runtime;

pub(crate) use owner::{Node, Step};
pub(crate) use runtime::State;
