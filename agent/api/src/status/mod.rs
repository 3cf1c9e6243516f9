//! What the API shows of a pod: rendered from the board, and written until it reads back equal.
//!
//! `render` is a function of what the agent shows of a pod and of what the API has; it keeps what
//! others wrote, and it never takes back an end, a restart count or a phase that is final.
//! `write_statuses` owns the calls: per pod one at a time and only the newest, sixteen side by side.
//! A pod that was deleted and of which nothing is left is deleted in the API after its last status.

mod patch;
mod render;
mod writer;

pub use render::{NodeFacts, render};
pub use writer::{StatusInputs, write_statuses};

#[cfg(test)]
pub(crate) mod testing;
