//! Pods of the API server: those that are bound to this node, and the mirrors of its static pods.
//!
//! In: a watch on the pods of this node. Out: wanted pods for the loops, the newest objects for who
//! writes statuses, mirror pods in the API. A pod whose status alone changed is the same wanted pod.
//! While the API server cannot be reached, what was known last goes on.

mod cache;
mod follow;
mod known;
mod marks;
mod mirror;

pub use cache::ApiPods;
pub use follow::follow_pods;
pub(crate) use marks::{is_static, mirror_hash, static_hash};
pub use mirror::{MirrorInputs, keep_mirrors};

#[cfg(test)]
pub(crate) mod testing;
