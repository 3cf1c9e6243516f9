//! Front desk for extended resources: `nvidia.com/gpu` and MIG resources, by the names of NVIDIA's device plugin.
//!
//! In: what the containers of a pod ask for by resource name. Out: the keeper's grants or refusals under the
//! same names, and which resources this node has. Wire and keeper are translated into each other; the desk keeps
//! nothing itself, has no idea of its own about who holds a GPU, and never talks to the driver.

mod desk;
#[cfg(test)]
mod fixtures;
mod resource;

pub use desk::{Desk, ResourceAsk, ResourceGrant};
pub use resource::{GPU_RESOURCE, Resource, resources};
